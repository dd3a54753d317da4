import Crypto
import CryptoExtras
package import Foundation
import Wire

/// What an application's own server shows: a JWS by RS256 of one of the application's encryption keys, in which it speaks
/// for itself and for none of its people.
///
/// Its claims are `iss`, the application; `sub`, which is `__server__`; `iat` and `exp`, at most five minutes apart, as
/// numbers or in ISO 8601. Nothing in it is trusted yet.
package struct ServerToken: Sendable {
    static let algorithm = "RS256"
    /// The `sub` that says so; nobody signs in by it.
    package static let subject = "__server__"
    /// The longest that one counts, in seconds.
    package static let lifetime: TimeInterval = 300
    /// How far the server's clock may be ahead, in seconds.
    private static let leeway: TimeInterval = 60
    /// Longer text is refused unread, in bytes.
    private static let maximumLength = 4_096
    /// Of a key of 2,048 bits, as base64url.
    private static let signatureLength = 342

    let key: ApplicationKey
    let issuedAt: Date
    let expiresAt: Date
    private let jws: CompactJWS

    /// Nil for any other credential, and for one that could not count whatever its signature.
    init?(_ text: String) {
        // A look at the end first: people's tokens come by here too, and are taken apart elsewhere.
        guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")),
            text.utf8.distance(from: dot, to: text.utf8.endIndex) - 1 == Self.signatureLength,
            let jws = CompactJWS(text, maximumLength: Self.maximumLength), jws.algorithm == Self.algorithm,
            jws.type.map({ $0.uppercased() == "JWT" }) ?? true, jws.contentType.map({ $0 == "diuit-auth;v=1" }) ?? true,
            let kid = jws.keyID,
            // Not an object: not ours.
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

    /// Whether the token was issued by now, as far as the server's clock may be ahead.
    func isIssued(at now: Date) -> Bool { issuedAt <= now.addingTimeInterval(Self.leeway) }

    /// Whether it was signed by this key (SubjectPublicKeyInfo, DER).
    func isSigned(by publicKey: Data) -> Bool {
        // Auth keeps none that cannot be read; by such a one nothing is signed.
        guard let key = try? _RSA.Signing.PublicKey(derRepresentation: publicKey) else { return false }
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: jws.signature),
            for: SHA256.hash(data: jws.signingInput),
            padding: .insecurePKCS1v1_5
        )
    }
}
