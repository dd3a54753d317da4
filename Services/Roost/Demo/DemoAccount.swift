import AuthAPI
import HTTPTypes
import ServiceClient
import SocialAPI
import Wire

/// Somebody to try things with: an account of Roost's own that is linked to every network which the sandbox plays.
struct DemoAccount: Sendable {
    static let username = "demo"
    /// Whose accounts on the networks it has: one of those who have talks and notifications there from the start.
    private static let person = "ana"

    private let auth: ServiceClient
    private let social: ServiceClient
    private let password: String

    init(_ settings: SuiteSettings, password: String) {
        self.password = password
        // Past the gateway, whose certificate is for another name than this machine's.
        func client(_ service: String) -> ServiceClient {
            let addresses = SuiteProgram.all.flatMap { $0.name == service ? settings.addresses(of: $0) : [] }
            return ServiceClient(callee: service, transport: HTTPTransport(baseURLs: addresses))
        }
        (auth, social) = (client("auth"), client("social"))
    }

    /// Signs in; as somebody new, where there is nobody of the name.
    ///
    /// - Throws: `Workspace.Problem` where the name is somebody else's.
    func signIn() async throws -> SignIn {
        do {
            return try await logIn()
        } catch let error as APIError where error.kind == .unauthenticated {
            let draft = AccountDraft(username: Self.username, password: password)
            do {
                _ = try await auth.post("/auth/register", draft, timeout: .seconds(10), as: RegistrationResult.self)
            } catch let error as APIError where error.code == "username_taken" {
                // Another who signs in at the same moment may have made it: then the password is right.
            }
        }
        do {
            return try await logIn()
        } catch let error as APIError where error.kind == .unauthenticated {
            throw Workspace.Problem("the account \(Self.username) is somebody else's, or has another password")
        }
    }

    private func logIn() async throws -> SignIn {
        let draft = LoginDraft(username: Self.username, password: password)
        return try await auth.post("/auth/login", draft, timeout: .seconds(10))
    }

    func signOut(_ signIn: SignIn) async throws {
        _ = try await auth.authorized(as: signIn.jwt).send(.post, "/auth/logout")
    }

    /// What is linked now.
    func linked(_ signIn: SignIn) async throws -> Set<String> {
        let page: Page<NetworkStatus> = try await social.authorized(as: signIn.jwt).get("/networks")
        return Set(page.items.filter { $0.state == .linked }.map(\.network.rawValue))
    }

    /// Links it to a network of the sandbox.
    func link(to fake: SandboxNetworks.Fake, _ signIn: SignIn) async throws {
        guard let account = fake.accounts.first(where: { $0.name == Self.person }) else { return }
        let client = social.authorized(as: signIn.jwt)
        let draft = LinkDraft(account, on: fake)
        _ = try await client.put("/networks/\(fake.network)", draft, timeout: .seconds(20), as: NetworkStatus.self)
    }
}

extension LinkDraft {
    /// The sandbox's tokens are those of OAuth 2.0, whose limits are wider than 1.0a's.
    init(_ account: SandboxNetworks.Account, on fake: SandboxNetworks.Fake) {
        switch fake.network {
        // An app password; tokens of Bluesky end within hours.
        case "bluesky": self.init(accessToken: account.password ?? account.accessToken, id: account.id)
        case "mastodon": self.init(accessToken: account.accessToken, instance: fake.origin)
        default: self.init(accessToken: account.accessToken, refreshToken: account.refreshToken)
        }
    }
}
