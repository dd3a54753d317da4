import AuthAPI
import HTTPTypes
import ServiceClient
import SocialAPI
import Wire

struct DemoAccount: Sendable {
    static let username = "demo"
    /// The sandbox user whose network accounts are linked; these have conversations and notifications from the start.
    private static let person = "ana"

    private let auth: ServiceClient
    private let social: ServiceClient
    private let password: String

    init(_ settings: SuiteSettings, password: String) {
        self.password = password
        // Requests bypass the gateway, whose certificate is not for this machine's name.
        func client(_ service: String) -> ServiceClient {
            let addresses = SuiteProgram.all.flatMap { $0.name == service ? settings.addresses(of: $0) : [] }
            return ServiceClient(callee: service, transport: HTTPTransport(baseURLs: addresses))
        }
        (auth, social) = (client("auth"), client("social"))
    }

    /// Signs in, and creates the account first if the username is free.
    ///
    /// - Throws: `Workspace.Problem` when the username belongs to another user.
    func signIn() async throws -> SignIn {
        do {
            return try await logIn()
        } catch let error as APIError where error.kind == .unauthenticated {
            let draft = AccountDraft(username: Self.username, password: password)
            do {
                _ = try await auth.post("/auth/register", draft, timeout: .seconds(10), as: RegistrationResult.self)
            } catch let error as APIError where error.code == "username_taken" {
                // A concurrent sign-in may have created the account; the password is then correct.
            }
        }
        do {
            return try await logIn()
        } catch let error as APIError where error.kind == .unauthenticated {
            throw Workspace.Problem("the account \(Self.username) belongs to another user or has another password")
        }
    }

    private func logIn() async throws -> SignIn {
        let draft = LoginDraft(username: Self.username, password: password)
        return try await auth.post("/auth/login", draft, timeout: .seconds(10))
    }

    func signOut(_ signIn: SignIn) async throws {
        _ = try await auth.authorized(as: signIn.jwt).send(.post, "/auth/logout")
    }

    func linked(_ signIn: SignIn) async throws -> Set<String> {
        let page: Page<NetworkStatus> = try await social.authorized(as: signIn.jwt).get("/networks")
        return Set(page.items.filter { $0.state == .linked }.map(\.network.rawValue))
    }

    func link(to fake: SandboxNetworks.Fake, _ signIn: SignIn) async throws {
        guard let account = fake.accounts.first(where: { $0.name == Self.person }) else { return }
        let client = social.authorized(as: signIn.jwt)
        let draft = LinkDraft(account, on: fake)
        _ = try await client.put("/networks/\(fake.network)", draft, timeout: .seconds(20), as: NetworkStatus.self)
    }
}

extension LinkDraft {
    /// Creates a draft with OAuth 2.0 tokens, whose limits are higher than those of OAuth 1.0a.
    init(_ account: SandboxNetworks.Account, on fake: SandboxNetworks.Fake) {
        switch fake.network {
        // An app password, because Bluesky's tokens expire within hours.
        case "bluesky": self.init(accessToken: account.password ?? account.accessToken, id: account.id)
        case "mastodon": self.init(accessToken: account.accessToken, instance: fake.origin)
        default: self.init(accessToken: account.accessToken, refreshToken: account.refreshToken)
        }
    }
}
