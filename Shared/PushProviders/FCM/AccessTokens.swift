import Foundation
import Locks
import NIOCore

/// The OAuth access token of a service account; all requests share one fetch, and renewal starts before the token
/// expires.
final class AccessTokens: Sendable {
    struct Failure: Error, Sendable {
        var reply: PushReply
    }

    private struct Token {
        var value: String
        /// The time at which a background fetch starts.
        var renewal: Date
        var end: Date
    }

    private struct State {
        var token: Token?
        var fetch: Task<Result<String, Failure>, Never>?
        /// The last error, and the time until which no new fetch starts.
        var failure: (Failure, until: Date)?
    }

    /// Seconds before the expiry; tokens normally last 3,600 s.
    private static let margin: TimeInterval = 360
    /// The seconds for which an error is reused, because thousands of notifications may wait.
    private static let retryDelay: TimeInterval = 1

    private let account: ServiceAccount
    private let address: HTTPAddress
    private let pool: ConnectionPool
    private let now: @Sendable () -> Date
    private let state = Lock(State())

    init(_ account: ServiceAccount, at address: HTTPAddress, pool: ConnectionPool, now: @escaping @Sendable () -> Date)
    {
        self.account = account
        self.address = address
        self.pool = pool
        self.now = now
    }

    /// Returns a valid token.
    ///
    /// - Parameter refused: a token that FCM rejected and that must not be returned again.
    /// - Returns: the token.
    /// - Throws: ``Failure`` with the reply for the notification.
    func current(excluding refused: String? = nil) async throws(Failure) -> String {
        let now = now()
        enum TokenState {
            case token(String)
            case failure(Failure)
            case fetch(Task<Result<String, Failure>, Never>)
        }
        let found: TokenState = state.withLock { state in
            if let token = state.token, token.value == refused || token.end <= now { state.token = nil }
            if let token = state.token {
                if token.renewal <= now, state.fetch == nil, !Self.isBackingOff(state, now) {
                    state.fetch = beginFetch()
                }
                return .token(token.value)
            }
            if let fetch = state.fetch { return .fetch(fetch) }
            if let failure = state.failure, Self.isBackingOff(state, now) { return .failure(failure.0) }
            let fetch = beginFetch()
            state.fetch = fetch
            return .fetch(fetch)
        }
        switch found {
        case .token(let value): return value
        case .failure(let failure): throw failure
        case .fetch(let fetch): return try await fetch.value.get()
        }
    }

    private static func isBackingOff(_ state: State, _ now: Date) -> Bool {
        state.failure.map { $0.until > now } ?? false
    }

    /// Starts an unstructured task, because the caller may be cancelled while others wait for the token.
    private func beginFetch() -> Task<Result<String, Failure>, Never> {
        Task {
            let requestedAt = now()
            let result = await requestToken(requestedAt)
            return state.withLock { state in
                state.fetch = nil
                switch result {
                case .success(let token):
                    state.token = token
                    state.failure = nil
                case .failure(let failure):
                    state.failure = (failure, now().addingTimeInterval(Self.retryDelay))
                }
                return result.map(\.value)
            }
        }
    }

    private func requestToken(_ now: Date) async -> Result<Token, Failure> {
        guard let assertion = try? account.assertion(at: now) else {
            return .failure(Failure(reply: PushReply(.misconfigured, reason: "UnusableKey")))
        }
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        var request = OutgoingRequest(to: address.origin, path: address.path, body: ByteBuffer(string: form))
        request.add("content-type", "application/x-www-form-urlencoded")
        switch await pool.send(request) {
        case .failure(let failure):
            return .failure(Failure(reply: PushReply(.providerBusy, reason: "AccessToken: \(failure.reason)")))
        case .success(let response): return Self.token(in: response, now)
        }
    }

    private struct TokenResponse: Decodable {
        var access_token: String?
        var expires_in: Double?
        var error: String?
    }

    private static func token(in response: ProviderResponse, _ now: Date) -> Result<Token, Failure> {
        let tokenResponse = try? JSONDecoder().decode(TokenResponse.self, from: Data(response.body.readableBytesView))
        if response.status == 200, let value = tokenResponse?.access_token,
            value.utf8.allSatisfy(CollapseID.isVisibleASCII)
        {
            let life = min(max(tokenResponse?.expires_in ?? 3_600, 0), 86_400)
            // A token of a few minutes is renewed at half of its lifetime.
            let renewal = now.addingTimeInterval(max(life - margin, life / 2))
            return .success(Token(value: value, renewal: renewal, end: now.addingTimeInterval(life)))
        }
        let isTransient = response.status >= 500 || response.status == 429 || response.status == 408
        let reply = PushReply(
            isTransient ? .providerBusy : .misconfigured,
            status: response.status,
            reason: "AccessToken: \(String((tokenResponse?.error ?? "no token").prefix(100)))",
            retryAfter: response.retryAfter(now: now)
        )
        return .failure(Failure(reply: reply))
    }
}
