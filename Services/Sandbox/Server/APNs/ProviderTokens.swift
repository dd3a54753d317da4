import Credentials
import Crypto
import Foundation
import Locks

/// Verifies the authentication tokens of providers ("Establishing a token-based connection to APNs").
///
/// Each token is verified once and cached, because thousands of requests carry the same one.
final class ProviderTokens: Sendable {
    /// A verified token, signed with the APNs key of an account.
    struct Token: Sendable {
        let account: DeveloperAccount
        let keyID: String
        /// Seconds since 1970.
        let issuedAt: Int
    }

    /// The maximum age of a token, and the minimum age at which another may replace it, in seconds.
    static let lifetime = 3_600
    static let minimumTokenAge = 1_200
    /// How many seconds a provider's clock may be ahead.
    private static let skew = 300
    private static let cacheLimit = 1_000
    private static let maximumLength = 4_096

    private struct Claims: Decodable {
        var iss: String
        var iat: Int
    }

    private struct State {
        var verified: [String: Token] = [:]
        /// For each key, when each token of the last 20 minutes was first seen.
        var firstSeen: [String: [Int]] = [:]
    }

    private let accounts: DeveloperAccounts
    private let tokensPerKey: Int
    private let now: @Sendable () -> Date
    private let state = Lock(State())

    init(accounts: DeveloperAccounts, tokensPerKey: Int, now: @escaping @Sendable () -> Date) {
        self.accounts = accounts
        self.tokensPerKey = tokensPerKey
        self.now = now
    }

    /// The authentication state of one connection.
    struct Session {
        fileprivate var text = ""
        fileprivate var token: Token?
        /// The key of the first valid token.
        fileprivate var keyID: String?

        /// Forgets the token after an error response, so that the provider may send a new one at any time.
        mutating func forgetToken() {
            token = nil
            text = ""
        }
    }

    func validate(_ authorization: String?, in session: inout Session) throws(APNsError) -> Token {
        guard let authorization else { throw APNsError(.missingProviderToken) }
        if let token = session.token, authorization == session.text {
            try checkAge(of: token)
            return token
        }
        let scheme = authorization.prefix(7)
        guard scheme.lowercased() == "bearer " else { throw APNsError(.missingProviderToken) }
        let token = try verify(String(authorization.dropFirst(7)))
        try checkAge(of: token)
        if let keyID = session.keyID, keyID != token.keyID { throw APNsError(.unrelatedKeyIdInToken) }
        if let previous = session.token, abs(token.issuedAt - previous.issuedAt) < Self.minimumTokenAge {
            throw APNsError(.tooManyProviderTokenUpdates)
        }
        session.keyID = token.keyID
        session.token = token
        session.text = authorization
        return token
    }

    private func checkAge(of token: Token) throws(APNsError) {
        let age = Int(now().timeIntervalSince1970) - token.issuedAt
        if age > Self.lifetime { throw APNsError(.expiredProviderToken) }
        if age < -Self.skew { throw APNsError(.invalidProviderToken) }
    }

    private func verify(_ text: String) throws(APNsError) -> Token {
        if let token = state.withLock({ $0.verified[text] }) { return token }
        guard let jws = CompactJWS(text, maximumLength: Self.maximumLength), jws.algorithm == "ES256",
            let keyID = jws.keyID, let account = accounts.account(keyID: keyID),
            Self.isSigned(jws, by: account.apnsKey.publicKey),
            // The guard reports unreadable claims as an invalid token.
            let claims = try? JSONDecoder().decode(Claims.self, from: jws.payload), claims.iss == account.teamID
        else { throw APNsError(.invalidProviderToken) }
        let token = Token(account: account, keyID: keyID, issuedAt: claims.iat)
        guard note(token, as: text) else { throw APNsError(.tooManyProviderTokenUpdates) }
        return token
    }

    /// Returns whether the signature is valid.
    ///
    /// Apple accepts raw signatures (RFC 7515) and DER, which many libraries make.
    private static func isSigned(_ jws: CompactJWS, by key: P256.Signing.PublicKey) -> Bool {
        // Bytes that are not a signature make the token invalid.
        let raw = try? P256.Signing.ECDSASignature(rawRepresentation: jws.signature)
        guard let signature = raw ?? (try? P256.Signing.ECDSASignature(derRepresentation: jws.signature)) else {
            return false
        }
        return key.isValidSignature(signature, for: jws.signingInput)
    }

    private func note(_ token: Token, as text: String) -> Bool {
        let time = Int(now().timeIntervalSince1970)
        return state.withLock { state in
            var times = state.firstSeen[token.keyID, default: []]
            times.removeAll { $0 <= time - Self.minimumTokenAge }
            guard times.count < tokensPerKey else { return false }
            state.firstSeen[token.keyID] = times + [time]
            if state.verified.count >= Self.cacheLimit { state.verified = [:] }
            state.verified[text] = token
            return true
        }
    }
}

struct APNsError: Error {
    let reason: APNsReason

    init(_ reason: APNsReason) {
        self.reason = reason
    }
}
