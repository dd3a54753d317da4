import Crypto
import Foundation
import Locks
import Wire

/// What an authorization server of the AT Protocol keeps: requests that were pushed, and the keys that tokens are bound to.
final class BlueskyGrants: Sendable {
    /// What an application wants, said before anybody is sent here.
    struct PushedAuthorizationRequest: Sendable {
        let client: String
        let redirect: String
        let scopes: Set<String>
        let state: String?
        let challenge: String
        /// The thumbprint of the key that pushed it.
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

    /// A pushed request serves one answer.
    func drop(_ uri: String) { state.withLock { $0.pushed[uri] = nil } }

    /// Binds a code, an access token or a refresh token to a key.
    func bind(_ token: String, to key: String) {
        state.withLock { state in
            if state.keys.count >= Self.capacity { state.keys = [:] }
            state.keys[token] = key
        }
    }

    func key(of token: String) -> String? { state.withLock { $0.keys[token] } }

    // MARK: Proofs

    /// What a proof made now must have in it; it changes every three minutes, and the one before is good as long again.
    var nonce: String { nonce(at: clock.now) }

    private func nonce(at time: Date) -> String {
        let window = Data(String(Int(time.timeIntervalSince1970 / 180)).utf8)
        return Base64URL.encode(Data(HMAC<SHA256>.authenticationCode(for: window, using: secret)).prefix(18))
    }

    func isCurrentNonce(_ nonce: String?) -> Bool {
        nonce == self.nonce || nonce == self.nonce(at: clock.now.addingTimeInterval(-180))
    }

    /// Takes a proof's id; false for one that was there before.
    func take(_ id: String) -> Bool {
        let now = clock.now
        return state.withLock { state in
            if state.proofs.count >= Self.capacity { state.proofs = state.proofs.filter { $0.value > now } }
            return state.proofs.updateValue(now + 600, forKey: id) == nil
        }
    }
}
