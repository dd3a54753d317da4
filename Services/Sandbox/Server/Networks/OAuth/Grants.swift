import Crypto
import Foundation
import Locks
import Wire

/// What a network has let apps do in its people's names: codes, tokens and their ends.
final class Grants: Sendable {
    struct Grant: Sendable {
        /// The person's number; nil for an app that speaks for itself.
        let person: Int?
        let app: String
        var scopes: Set<String>
        var expiry: Date?
        /// By which it is renewed.
        var refresh: String?
        /// The second half of an OAuth 1 token.
        var secret: String?
        /// What kind it is, where a network has several.
        var kind = ""
    }

    struct Code: Sendable {
        let person: Int
        let app: String
        let redirect: String
        let scopes: Set<String>
        let challenge: String?
        let expiry: Date
        /// What the ID token is to bear, where there is to be one.
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

    /// What a refresh token is good for; with `once`, no second time.
    func renewal(_ refresh: String, once: Bool) -> Grant? {
        state.withLock { state in
            once ? state.refresh.removeValue(forKey: refresh) : state.refresh[refresh]
        }
    }

    /// Ends a token, or what it is renewed by; answers whether there was one.
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

    /// Lets a token expire at once.
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

    /// Takes a code, which is good once, for the same app and the same way back, and by who has the verifier.
    ///
    /// With `keepsMismatched` one that is another app's stays good for that.
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
