import Crypto
import Foundation
import Locks
import Wire

/// The state of an AT Protocol authorization server: pushed requests, and the keys that tokens are bound to.
final class BlueskyGrants: Sendable {
    /// An authorization request that the application pushed before it redirected the user.
    struct PushedAuthorizationRequest: Sendable {
        let client: String
        let redirect: String
        let scopes: Set<String>
        let state: String?
        let challenge: String
        /// The thumbprint of the DPoP key that the request was pushed with.
        let key: String
        let expiry: Date
    }

    private struct State {
        var pushed: [String: PushedAuthorizationRequest] = [:]
        var keys: [String: String] = [:]
        var proofs: [String: Date] = [:]
    }

    private static let capacity = 100_000

    private let state = Lock(State())
    private let clock: SandboxClock
    private let secret = SymmetricKey(size: .bits256)

    init(clock: SandboxClock) { self.clock = clock }

    func push(_ request: PushedAuthorizationRequest) -> String {
        let uri = "urn:ietf:params:oauth:request_uri:req-\(Base64URL.random(bytes: 24))"
        state.withLock { state in
            if state.pushed.count >= Self.capacity { state.pushed = [:] }
            state.pushed[uri] = request
        }
        return uri
    }

    func pushed(_ uri: String) -> PushedAuthorizationRequest? {
        state.withLock { $0.pushed[uri] }.flatMap { $0.expiry > clock.now ? $0 : nil }
    }

    /// Removes a pushed request, which allows only one decision.
    func drop(_ uri: String) { state.withLock { $0.pushed[uri] = nil } }

    /// Binds a code, an access token or a refresh token to a key's thumbprint.
    func bind(_ token: String, to key: String) {
        state.withLock { state in
            if state.keys.count >= Self.capacity { state.keys = [:] }
            state.keys[token] = key
        }
    }

    func key(of token: String) -> String? { state.withLock { $0.keys[token] } }

    // MARK: Proofs

    /// The current DPoP nonce.
    ///
    /// It changes every three minutes, and the previous nonce is valid for another three.
    var nonce: String { nonce(at: clock.now) }

    private func nonce(at time: Date) -> String {
        let window = Data(String(Int(time.timeIntervalSince1970 / 180)).utf8)
        return Base64URL.encode(Data(HMAC<SHA256>.authenticationCode(for: window, using: secret)).prefix(18))
    }

    func isCurrentNonce(_ nonce: String?) -> Bool {
        nonce == self.nonce || nonce == self.nonce(at: clock.now.addingTimeInterval(-180))
    }

    /// Records a proof's id, or returns false when it was already used.
    func registerProof(_ id: String) -> Bool {
        let now = clock.now
        return state.withLock { state in
            if state.proofs.count >= Self.capacity { state.proofs = state.proofs.filter { $0.value > now } }
            return state.proofs.updateValue(now + 600, forKey: id) == nil
        }
    }
}
