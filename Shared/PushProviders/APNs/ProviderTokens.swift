import Crypto
import Foundation
import Locks

/// The provider token of APNs, shared by all requests.
///
/// APNs rejects tokens older than 60 minutes and complains about renewals within 20 minutes. The first request after 45
/// minutes renews the token under the lock, in less than 0.1 ms.
final class ProviderTokens: Sendable {
    struct Token: Sendable {
        let value: String
        let createdAt: Date
    }

    static let lifetime: TimeInterval = 45 * 60
    static let minimumAge: TimeInterval = 20 * 60

    private struct State {
        var token: Token?
        /// The last renewal only because APNs reported the token as expired.
        var lastForcedRenewal: Date?
    }

    private let key: P256.Signing.PrivateKey
    private let keyID: String
    private let teamID: String
    private let now: @Sendable () -> Date
    private let state = Lock(State())

    init(_ credentials: APNsClient.Credentials, now: @escaping @Sendable () -> Date) throws {
        do {
            key = try P256.Signing.PrivateKey(pemRepresentation: credentials.key)
        } catch {
            throw PushCredentialsError("the APNs key must be a P-256 private key in PEM")
        }
        keyID = credentials.keyID
        teamID = credentials.teamID
        self.now = now
    }

    func current() throws -> Token {
        try state.withLock { state in
            // The time is read under the lock. A time read before another thread renewed the token would look like a
            // clock that went back.
            let now = now()
            // A clock that went back must not keep a token with a future `iat`, which APNs rejects.
            if let token = state.token, (0..<Self.lifetime).contains(now.timeIntervalSince(token.createdAt)) {
                return token
            }
            return try make(now, &state)
        }
    }

    /// Renews a token that APNs reported as expired, unless another request renewed it already.
    ///
    /// - Returns: false after a renewal within 20 minutes, because the local clock must be wrong.
    func renew(_ expired: Token) throws -> Bool {
        let now = now()
        return try state.withLock { state in
            guard state.token?.value == expired.value else { return true }
            if let lastForcedRenewal = state.lastForcedRenewal,
                now.timeIntervalSince(lastForcedRenewal) < Self.minimumAge
            {
                return false
            }
            state.lastForcedRenewal = now
            _ = try make(now, &state)
            return true
        }
    }

    func timeUntilReplaceable(of token: Token) -> Duration {
        .seconds(min(max(Self.minimumAge - now().timeIntervalSince(token.createdAt), 1), Self.minimumAge))
    }

    private func make(_ now: Date, _ state: inout State) throws -> Token {
        var header = JSONObjectWriter()
        header.add("alg", "ES256")
        header.add("kid", keyID)
        var claims = JSONObjectWriter()
        claims.add("iss", teamID)
        claims.add("iat", Int(now.timeIntervalSince1970))
        let token = Token(value: try CompactJWS.make(header: header, claims: claims, key: key), createdAt: now)
        state.token = token
        return token
    }
}
