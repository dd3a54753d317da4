import Crypto
import Foundation
import Locks

/// The token by which Apple knows the provider: one for all requests, renewed before it is an hour old.
///
/// Apple refuses one older than an hour and complains of one replaced within 20 minutes, so it is renewed at 45: by whoever
/// comes first then, under the lock, which takes less than a tenth of a millisecond.
final class ProviderTokens: Sendable {
    struct Token: Sendable {
        let value: String
        let createdAt: Date
    }

    static let lifetime: TimeInterval = 45 * 60
    static let minimumAge: TimeInterval = 20 * 60

    private struct State {
        var token: Token?
        /// When Apple's word alone, that it has expired, was last believed.
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
            throw PushCredentialsError("the key for APNs is no private key of P-256 in PEM")
        }
        keyID = credentials.keyID
        teamID = credentials.teamID
        self.now = now
    }

    func current() throws -> Token {
        try state.withLock { state in
            // Asked for in here: whoever came a moment earlier, and in here a moment later, would see a clock put back.
            let now = now()
            // A clock that was put back must not leave a token in use that Apple takes for one of the future.
            if let token = state.token, (0..<Self.lifetime).contains(now.timeIntervalSince(token.createdAt)) {
                return token
            }
            return try make(now, &state)
        }
    }

    /// Replaces a token that Apple says has expired, if it is still the one in use; false where that was done lately, and
    /// it is the clock that is wrong.
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

    /// How long until a token may be replaced.
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
