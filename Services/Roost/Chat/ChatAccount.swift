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

/// The way to the gateway's routes, with authorities of one's own if need be.
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
        // Silence: the process ends anyway.
        try? await own?.shutdown()
    }
}

/// Somebody who talks: signs in, again when the token is not good any more, and out at the end.
actor ChatAccount {
    /// A token that is about to expire is not worth trying.
    private static let margin: TimeInterval = 30

    nonisolated let username: String
    nonisolated let conversations: ConversationsClient
    private nonisolated let service: ServiceClient
    private nonisolated let token = TokenBox()
    private let http: ChatHTTP
    private let password: String
    private var expires = Date.distantPast
    /// How often in a row the server has refused the token of a new sign-in.
    private var refusals = 0
    private var names: [String: String] = [:]

    init(http: ChatHTTP, username: String, password: String) {
        self.http = http
        self.username = username
        self.password = password
        service = ServiceClient(callee: "gateway", transport: http.transport) { [token] in token.header }
        conversations = ConversationsClient(service)
    }

    /// The access token, for requests that are made anywhere.
    private final class TokenBox: Sendable {
        private let signIn = Lock<SignIn?>(nil)

        var header: String? { signIn.withLock { $0.map { "Bearer \($0.jwt)" } } }
        var current: SignIn? { signIn.withLock { $0 } }

        func set(_ new: SignIn?) { signIn.withLock { $0 = new } }
    }

    /// The user's id, once signed in.
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
            // Whose it is, the password will say.
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

    /// What to connect with, after a failure or for the first time.
    ///
    /// - Throws: `SocketIOClientError` where another attempt may succeed.
    func auth(after failure: SocketIOClientError?) async throws -> Data {
        if case .refused(let message, let data) = failure, ChatError(data).isTokenError {
            refusals += 1
            guard refusals <= 3 else { throw Workspace.Problem("not let in: \(message)") }
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

    /// The server takes the token no more.
    func expire() { expires = .distantPast }

    func tokenAccepted() { refusals = 0 }

    func end() async {
        if token.current != nil {
            // Silence: a session that is left open expires by itself.
            _ = try? await service.send(.post, "/auth/logout", timeout: .seconds(2))
        }
        await http.end()
    }

    // MARK: People

    nonisolated func users(named username: String) async throws -> [UserSummary] {
        try await service.get("/auth/users", query: [("username", username)], as: Page<UserSummary>.self).items
    }

    func rememberName(_ name: String, of user: String) { names[user] = name }

    /// The names that people are known by, by their ids.
    var known: [String: String] { names }
}
