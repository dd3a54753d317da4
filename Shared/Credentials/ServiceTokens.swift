import Crypto
package import Foundation
import Synchronization
import Wire

/// Tokens by which services know each other: HS256 with the suite's secret, at most 60 s, made out to one callee.
package struct ServiceTokens: Sendable {
    /// How long a token counts, in seconds.
    package static let lifetime: Int64 = 60
    /// A shorter secret is refused, in bytes.
    package static let minimumSecretLength = 32
    private static let type = "roost-service+jwt"
    /// How far the callee's clock may be behind, in seconds.
    private static let leeway: Int64 = 5

    private struct Header: Encodable {
        var alg = "HS256"
        var typ = ServiceTokens.type
    }

    private struct Claims: Codable {
        var iss: String
        var aud: String
        var iat: Int64
        var exp: Int64
    }

    /// The service that holds these: the issuer of what it makes, the audience of what it takes.
    package let name: String
    private let key: SymmetricKey
    private let now: @Sendable () -> Date

    /// - Throws: an `APIError` that says the secret is too short.
    package init(secret: String, name: String, now: @escaping @Sendable () -> Date = { Date() }) throws {
        guard secret.utf8.count >= Self.minimumSecretLength else {
            throw APIError(
                .internal,
                "weak_secret",
                "SERVICE_SECRET must have at least \(Self.minimumSecretLength) bytes"
            )
        }
        self.name = name
        // A key of its own for each use of the secret.
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
            info: Data("roost service token".utf8),
            outputByteCount: 32
        )
        self.now = now
    }

    package func token(for callee: String) throws -> String {
        let issued = Int64(now().timeIntervalSince1970)
        let header = try WireJSON.encoder(sortedKeys: true).encode(Header())
        let claims = Claims(iss: name, aud: callee, iat: issued, exp: issued + Self.lifetime)
        let payload = try WireJSON.encoder(sortedKeys: true).encode(claims)
        let input = "\(Base64URL.encode(header)).\(Base64URL.encode(payload))"
        let signature = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: key)
        return "\(input).\(Base64URL.encode(Data(signature)))"
    }

    /// The service that a token was made by.
    ///
    /// - Throws: `APIError` of kind `forbidden` for any token that is not a current one made out to this service.
    package func caller(of token: some StringProtocol) throws -> String {
        let refusal = APIError(.forbidden, "invalid_service_token", "a service token for this service is needed")
        guard let jws = CompactJWS(token, maximumLength: 1_024), jws.algorithm == "HS256", jws.type == Self.type,
            HMAC<SHA256>.isValidAuthenticationCode(jws.signature, authenticating: jws.signingInput, using: key),
            let claims = try? WireJSON.decoder().decode(Claims.self, from: jws.payload)  // signed, but not ours
        else { throw refusal }
        let current = Int64(now().timeIntervalSince1970)
        guard claims.aud == name, claims.exp > current - Self.leeway, claims.iat <= current + Self.leeway,
            claims.exp - claims.iat <= Self.lifetime
        else { throw refusal }
        return claims.iss
    }
}
