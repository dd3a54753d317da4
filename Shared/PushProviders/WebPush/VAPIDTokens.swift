import Crypto
import Foundation
import Locks

/// The `Authorization` header of Web Push requests (RFC 8292, section 3), with one cached token per origin.
final class VAPIDTokens: Sendable {
    private struct Token {
        var value: String
        var renewal: Date
    }

    /// RFC 8292 allows 24 h, but a push service whose clock is slow rejects a token that ends later than that.
    private static let lifetime: TimeInterval = 12 * 3_600
    private static let margin: TimeInterval = 3_600
    /// Clients choose the origins, so the cache needs a limit.
    private static let maximumOrigins = 1_000

    private let key: VAPIDKey
    private let subject: String
    private let now: @Sendable () -> Date
    private let tokens = Lock<[Origin: Token]>([:])

    init(key: VAPIDKey, subject: String, now: @escaping @Sendable () -> Date) {
        self.key = key
        self.subject = subject
        self.now = now
    }

    func authorization(for origin: Origin) throws -> String {
        let now = now()
        return try tokens.withLock { tokens in
            if let token = tokens[origin], token.renewal > now { return token.value }
            if tokens.count >= Self.maximumOrigins { tokens = tokens.filter { $0.value.renewal > now } }
            if tokens.count >= Self.maximumOrigins { tokens.removeAll() }
            let value = "vapid t=\(try make(origin, now)), k=\(key.publicKey)"
            tokens[origin] = Token(value: value, renewal: now.addingTimeInterval(Self.lifetime - Self.margin))
            return value
        }
    }

    private func make(_ origin: Origin, _ now: Date) throws -> String {
        var header = JSONObjectWriter()
        header.add("typ", "JWT")
        header.add("alg", "ES256")
        var claims = JSONObjectWriter()
        claims.add("aud", origin.description)
        claims.add("exp", Int(now.timeIntervalSince1970 + Self.lifetime))
        claims.add("sub", subject)
        return try CompactJWS.make(header: header, claims: claims, key: key.signing)
    }
}
