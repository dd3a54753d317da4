import Crypto
package import Foundation
import Locks
import Wire

/// The tokens with which services authenticate to each other: EdDSA, valid for at most 60 seconds and for one audience.
///
/// Signing or verifying an Ed25519 token takes about 100 µs. A token is therefore used for several calls, and verified
/// tokens are cached.
package struct ServiceTokens: Sendable {
    /// The validity of a token in seconds.
    package static let lifetime: Int64 = 60
    private static let type = "roost-service+jwt"
    /// The maximum time in seconds by which the callee's clock may be behind.
    private static let leeway: Int64 = 5
    /// The time in seconds for which a token is used for further calls; it is then valid for at least 40 more seconds.
    private static let reuse: Int64 = 20
    /// The maximum number of cached verified tokens: several for each possible caller.
    private static let cacheCapacity = 256
    /// The maximum length of a token in bytes.
    private static let maximumLength = 1_024

    private struct Header: Encodable {
        var alg = "EdDSA"
        var kid: String
        var typ = ServiceTokens.type
    }

    private struct Claims: Codable {
        var iss: String
        var aud: String
        var iat: Int64
        var exp: Int64
    }

    private struct Issued {
        let token: String
        let at: Int64
    }

    private final class Cache: Sendable {
        let issued = Lock<[String: Issued]>([:])
        let verified = BoundedCache<Claims>(capacity: ServiceTokens.cacheCapacity)
    }

    private let keys: ServiceKeys
    private let cache = Cache()
    private let now: @Sendable () -> Date

    /// The service that uses these tokens: the issuer of its own tokens and the audience of accepted ones.
    package var name: String { keys.name }

    package init(keys: ServiceKeys, now: @escaping @Sendable () -> Date = { Date() }) {
        self.keys = keys
        self.now = now
    }

    /// Creates tokens with keys that are derived from a shared secret.
    ///
    /// - Throws: an `APIError` if the secret is too short.
    package init(secret: String, name: String, now: @escaping @Sendable () -> Date = { Date() }) throws {
        self.init(keys: try ServiceKeys(secret: secret, name: name), now: now)
    }

    /// Returns a token for calls to `callee`.
    package func token(for callee: String) throws -> String {
        let current = seconds
        let cached = cache.issued.withLock { $0[callee] }
        if let cached, cached.at <= current, current < cached.at + Self.reuse { return cached.token }
        let encoder = WireJSON.encoder(sortedKeys: true)
        let header = try encoder.encode(Header(kid: keys.signingKeyID))
        let claims = Claims(iss: name, aud: callee, iat: current, exp: current + Self.lifetime)
        let input = "\(Base64URL.encode(header)).\(Base64URL.encode(try encoder.encode(claims)))"
        let signature = try keys.signingKey.signature(for: Data(input.utf8))
        let token = "\(input).\(Base64URL.encode(signature))"
        cache.issued.withLock { $0[callee] = Issued(token: token, at: current) }
        return token
    }

    /// Returns the service that issued a token.
    ///
    /// - Throws: `invalid_service_token` if the token has expired, is malformed, or is for another service.
    package func caller(of token: some StringProtocol) throws -> String {
        let text = String(token)
        guard text.utf8.count <= Self.maximumLength, Credential.isReadable(text) else { throw Self.invalid }
        let claims = try cache.verified[text] ?? verifiedClaims(of: text)
        let current = seconds
        guard claims.exp > current - Self.leeway, claims.iat <= current + Self.leeway else { throw Self.invalid }
        return claims.iss
    }

    private func verifiedClaims(of token: String) throws -> Claims {
        guard let jws = CompactJWS(token, maximumLength: Self.maximumLength), jws.algorithm == "EdDSA",
            jws.type == Self.type, let publicKey = jws.keyID.flatMap({ keys.publicKeys[$0] }),
            publicKey.key.isValidSignature(jws.signature, for: jws.signingInput),
            let claims = try? WireJSON.decoder().decode(Claims.self, from: jws.payload),  // reported below
            claims.iss == publicKey.issuer, claims.aud == name
        else { throw Self.invalid }
        let (validity, overflows) = claims.exp.subtractingReportingOverflow(claims.iat)
        guard !overflows, 1...Self.lifetime ~= validity else { throw Self.invalid }
        cache.verified.insert(claims, for: token)
        return claims
    }

    private var seconds: Int64 { Int64(now().timeIntervalSince1970) }

    private static var invalid: APIError {
        APIError(
            .forbidden,
            "invalid_service_token",
            "this route requires a valid service token for this service"
        )
    }
}
