import Crypto
package import Foundation
import Locks
import Wire

/// The tokens by which services authenticate to each other: EdDSA, valid for at most 60 seconds, for one audience.
///
/// Signing and verifying an Ed25519 token costs some 100 µs, so a token is used for several calls, and a verified one is
/// remembered.
package struct ServiceTokens: Sendable {
    /// How long a token is valid, in seconds.
    package static let lifetime: Int64 = 60
    private static let type = "roost-service+jwt"
    /// How far the callee's clock may be behind, in seconds.
    private static let leeway: Int64 = 5
    /// How long a token is used for further calls, in seconds; it is then valid for at least 40 seconds more.
    private static let reuse: Int64 = 20
    /// The number of verified tokens that are remembered: several for each process that may call.
    private static let remembered = 256
    /// A longer token is rejected, in bytes.
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
        let verified = BoundedCache<Claims>(capacity: ServiceTokens.remembered)
    }

    private let keys: ServiceKeys
    private let cache = Cache()
    private let now: @Sendable () -> Date

    /// The service that holds these: the issuer of the tokens that it makes, the audience of those that it accepts.
    package var name: String { keys.name }

    package init(keys: ServiceKeys, now: @escaping @Sendable () -> Date = { Date() }) {
        self.keys = keys
        self.now = now
    }

    /// Tokens by keys that are derived from a shared secret.
    ///
    /// - Throws: an `APIError` when the secret is too short.
    package init(secret: String, name: String, now: @escaping @Sendable () -> Date = { Date() }) throws {
        self.init(keys: try ServiceKeys(secret: secret, name: name), now: now)
    }

    /// A token for calls to `callee`.
    package func token(for callee: String) throws -> String {
        let current = seconds
        let known = cache.issued.withLock { $0[callee] }
        if let known, known.at <= current, current < known.at + Self.reuse { return known.token }
        let encoder = WireJSON.encoder(sortedKeys: true)
        let header = try encoder.encode(Header(kid: keys.signingKeyID))
        let claims = Claims(iss: name, aud: callee, iat: current, exp: current + Self.lifetime)
        let input = "\(Base64URL.encode(header)).\(Base64URL.encode(try encoder.encode(claims)))"
        let signature = try keys.signingKey.signature(for: Data(input.utf8))
        let token = "\(input).\(Base64URL.encode(signature))"
        cache.issued.withLock { $0[callee] = Issued(token: token, at: current) }
        return token
    }

    /// The service that made a token.
    ///
    /// - Throws: `APIError` of kind `forbidden` for a token that is not valid now, or that is for another service.
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
            jws.type == Self.type, let known = jws.keyID.flatMap({ keys.publicKeys[$0] }),
            known.key.isValidSignature(jws.signature, for: jws.signingInput),
            let claims = try? WireJSON.decoder().decode(Claims.self, from: jws.payload),  // the error below says it all
            claims.iss == known.issuer, claims.aud == name
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
            "This route needs a current token of a service, for this service."
        )
    }
}
