import AsyncHTTPClient
import AuthAPI
import ConversationsAPI
import Foundation
import HTTPTypes
import Locks
import NIOSSL
import ServiceClient
import SocketIOClient
import Wire

/// The HTTP transport to the gateway, with optional certificate authorities.
struct ChatHTTP: Sendable {
    let transport: HTTPTransport
    private let own: HTTPClient?

    init(url: String, ca: String?) throws {
        if let ca {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(ca)
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton,
                configuration: HTTPClient.Configuration(tlsConfiguration: tls)
            )
            own = client
            transport = HTTPTransport(baseURLs: [url], client: client)
        } else {
            own = nil
            transport = HTTPTransport(baseURLs: [url])
        }
    }

    func end() async {
        // A failure is ignored, because the process exits.
        try? await own?.shutdown()
    }
}

/// The account of a chat user: signs in, renews an expired token, and signs out at the end.
actor ChatAccount {
    /// A token is renewed this many seconds before it expires.
    private static let margin: TimeInterval = 30

    nonisolated let username: String
    nonisolated let conversations: ConversationsClient
    private nonisolated let service: ServiceClient
    private nonisolated let token = TokenBox()
    private let http: ChatHTTP
    private let password: String
    private var expires = Date.distantPast
    /// The number of times in a row that the server has rejected a new token.
    private var refusals = 0
    private var names: [String: String] = [:]

    init(http: ChatHTTP, username: String, password: String) {
        self.http = http
        self.username = username
        self.password = password
        service = ServiceClient(callee: "gateway", transport: http.transport) { [token] in token.header }
        conversations = ConversationsClient(service)
    }

    /// The access token, readable from any thread.
    private final class TokenBox: Sendable {
        private let signIn = Lock<SignIn?>(nil)

        var header: String? { signIn.withLock { $0.map { "Bearer \($0.jwt)" } } }
        var current: SignIn? { signIn.withLock { $0 } }

        func set(_ new: SignIn?) { signIn.withLock { $0 = new } }
    }

    /// The user's id; empty before the sign-in.
    nonisolated var userId: String { token.current?.userId ?? "" }

    // MARK: Signing in and out

    func begin(registering: Bool) async throws {
        do {
            if registering { try await register() }
            try await renew()
        } catch let error as APIError {
            throw Workspace.Problem(error.message)
        }
    }

    private func register() async throws {
        do {
            let draft = AccountDraft(username: username, password: password)
            _ = try await service.post("/auth/register", draft, timeout: .seconds(10), as: RegistrationResult.self)
        } catch let error as APIError where error.code == "username_taken" {
            // The sign-in that follows shows whether the account belongs to this user.
        }
    }

    private func renew() async throws {
        token.set(nil)
        let draft = LoginDraft(username: username, password: password)
        let signIn: SignIn = try await service.post("/auth/login", draft, timeout: .seconds(10))
        token.set(signIn)
        expires = Date().addingTimeInterval(TimeInterval(signIn.expiresIn))
        names[signIn.userId] = username
    }

    /// Returns the authentication payload of a connection, the first one or after a failure.
    ///
    /// - Throws: `SocketIOClientError` when another attempt may succeed.
    func auth(after failure: SocketIOClientError?) async throws -> Data {
        if case .refused(let message, let data) = failure, ChatError(data).isTokenError {
            refusals += 1
            guard refusals <= 3 else { throw Workspace.Problem("the server rejected the connection: \(message)") }
            expire()
        }
        if expires.timeIntervalSinceNow < Self.margin { try await renewMappingErrors() }
        return try JSONEncoder().encode(["token": token.current?.jwt ?? ""])
    }

    private func renewMappingErrors() async throws {
        do {
            try await renew()
        } catch let error as APIError {
            switch error.kind {
            case .unavailable, .badGateway, .gatewayTimeout, .rateLimited, .internal:
                throw SocketIOClientError.unreachable(error.message)
            default: throw Workspace.Problem(error.message)
            }
        }
    }

    func expire() { expires = .distantPast }

    func tokenAccepted() { refusals = 0 }

    func end() async {
        if token.current != nil {
            // A failure is ignored: an open session expires by itself.
            _ = try? await service.send(.post, "/auth/logout", timeout: .seconds(2))
        }
        await http.end()
    }

    // MARK: Names

    nonisolated func users(named username: String) async throws -> [UserSummary] {
        try await service.get("/auth/users", query: [("username", username)], as: Page<UserSummary>.self).items
    }

    func rememberName(_ name: String, of user: String) { names[user] = name }

    var displayNames: [String: String] { names }
}
