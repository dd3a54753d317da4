import Crypto
import Foundation
import Locks
import Wire

/// The authorization codes and tokens of one network.
final class Grants: Sendable {
    struct Grant: Sendable {
        /// The person's number; nil for an app's own token.
        let person: Int?
        let app: String
        var scopes: Set<String>
        var expiry: Date?
        var refresh: String?
        /// The secret of an OAuth 1 token.
        var secret: String?
        /// The kind of token, for a network with several kinds.
        var kind = ""
    }

    struct Code: Sendable {
        let person: Int
        let app: String
        let redirect: String
        let scopes: Set<String>
        let challenge: String?
        let expiry: Date
        /// The nonce for the ID token.
        var nonce: String?
    }

    private struct State {
        var tokens: [String: Grant] = [:]
        var refresh: [String: Grant] = [:]
        var codes: [String: Code] = [:]
    }

    private static let capacity = 200_000

    private let state = Lock(State())
    private let clock: SandboxClock

    init(clock: SandboxClock) {
        self.clock = clock
    }

    enum LookupResult {
        case valid(Grant)
        case expired(Grant)
        case unknown
    }

    func find(_ token: String) -> LookupResult {
        guard let grant = state.withLock({ $0.tokens[token] }) else { return .unknown }
        if let expiry = grant.expiry, expiry <= clock.now { return .expired(grant) }
        return .valid(grant)
    }

    func put(_ token: String, _ grant: Grant) {
        state.withLock { state in
            if state.tokens.count >= Self.capacity { state.tokens = [:] }
            state.tokens[token] = grant
            if let refresh = grant.refresh { state.refresh[refresh] = grant }
        }
    }

    /// Returns the grant of a refresh token, which becomes invalid with `once`.
    func renewal(_ refresh: String, once: Bool) -> Grant? {
        state.withLock { state in
            once ? state.refresh.removeValue(forKey: refresh) : state.refresh[refresh]
        }
    }

    /// Revokes an access token or refresh token together with its counterpart, and returns whether it existed.
    @discardableResult
    func revoke(_ token: String) -> Bool {
        state.withLock { state in
            if let grant = state.tokens.removeValue(forKey: token) {
                if let refresh = grant.refresh { state.refresh[refresh] = nil }
                return true
            }
            guard state.refresh.removeValue(forKey: token) != nil else { return false }
            state.tokens = state.tokens.filter { $0.value.refresh != token }
            return true
        }
    }

    func expire(_ token: String) {
        let time = clock.now
        state.withLock { $0.tokens[token]?.expiry = time }
    }

    // MARK: Codes

    func code(_ code: Code) -> String {
        let text = Base64URL.random(bytes: 24)
        state.withLock { $0.codes[text] = code }
        return text
    }

    /// Redeems a code, which is valid once, for the same app, redirect address and PKCE verifier.
    ///
    /// With `keepsMismatched`, a code of another app remains valid for that app.
    func redeem(
        _ text: String,
        app: String,
        redirect: String?,
        verifier: String?,
        keepsMismatched: Bool = false
    ) -> Code? {
        let found = state.withLock { state -> Code? in
            if keepsMismatched, state.codes[text]?.app != app { return nil }
            return state.codes.removeValue(forKey: text)
        }
        guard let code = found, code.expiry > clock.now, code.app == app, code.redirect == redirect else { return nil }
        guard let challenge = code.challenge else { return code }
        guard let verifier, 43...128 ~= verifier.utf8.count else { return nil }
        return Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).withUnsafeBytes { Data($0) }) == challenge
            ? code : nil
    }
}
