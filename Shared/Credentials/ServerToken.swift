import Crypto
import CryptoExtras
package import Foundation
import Wire

/// The credential of an application's server: a JWS with RS256, signed by an encryption key of the application.
///
/// The server acts for the application and not for its users. The claims are `iss` (the application), `sub`
/// (`__server__`), `iat` and `exp`, which are at most five minutes apart, as numbers or in ISO 8601. The content is not
/// yet trusted.
package struct ServerToken: Sendable {
    static let algorithm = "RS256"
    /// The `sub` of a server token; no user has this id.
    package static let subject = "__server__"
    /// The maximum time in seconds between `iat` and `exp`.
    package static let lifetime: TimeInterval = 300
    /// The maximum time in seconds by which the server's clock may be ahead.
    private static let leeway: TimeInterval = 60
    /// The maximum length in bytes; longer tokens are rejected without parsing.
    private static let maximumLength = 4_096
    /// The length of a signature by a key of 2,048 bits, in base64url.
    private static let signatureLength = 342

    let key: ApplicationKey
    let issuedAt: Date
    let expiresAt: Date
    private let jws: CompactJWS

    /// Parses a server token; returns nil for other credentials and for tokens that are invalid regardless of the
    /// signature.
    init?(_ text: String) {
        // The signature's length is checked first, because the tokens of users are also passed here.
        guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")),
            text.utf8.distance(from: dot, to: text.utf8.endIndex) - 1 == Self.signatureLength,
            let jws = CompactJWS(text, maximumLength: Self.maximumLength), jws.algorithm == Self.algorithm,
            jws.type.map({ $0.uppercased() == "JWT" }) ?? true, jws.contentType.map({ $0 == "diuit-auth;v=1" }) ?? true,
            let kid = jws.keyID,
            // A payload that is not an object belongs to another kind of token.
            case .object(let claims) = try? WireJSON.decoder().decode(JSONValue.self, from: jws.payload),
            case .string(Self.subject) = claims["sub"], case .string(let issuer) = claims["iss"],
            let key = ApplicationKey(application: issuer, id: kid),
            let issuedAt = ISO8601Time.date(claim: claims["iat"]),
            let expiresAt = ISO8601Time.date(claim: claims["exp"]),
            expiresAt > issuedAt, expiresAt.timeIntervalSince(issuedAt) <= Self.lifetime
        else { return nil }
        self.key = key
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.jws = jws
    }

    func hasExpired(at now: Date) -> Bool { expiresAt <= now }

    /// Returns whether the token was issued before now, allowing for the server's clock.
    func isIssued(at now: Date) -> Bool { issuedAt <= now.addingTimeInterval(Self.leeway) }

    /// Returns whether the token was signed by a key (DER-encoded SubjectPublicKeyInfo).
    func isSigned(by publicKey: Data) -> Bool {
        // Auth stores only valid keys; an invalid key verifies nothing.
        guard let key = try? _RSA.Signing.PublicKey(derRepresentation: publicKey) else { return false }
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: jws.signature),
            for: SHA256.hash(data: jws.signingInput),
            padding: .insecurePKCS1v1_5
        )
    }
}
