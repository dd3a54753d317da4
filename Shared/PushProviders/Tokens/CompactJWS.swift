import Crypto
import CryptoExtras
import Foundation

/// A signed token in its compact form (RFC 7515, section 3.1).
enum CompactJWS {
    /// Signed by ES256: r and s as 32 bytes each, one after the other (RFC 7518, section 3.4), and not in DER as many of
    /// Apple's clients have it.
    static func make(header: JSONObjectWriter, claims: JSONObjectWriter, key: P256.Signing.PrivateKey) throws -> String
    {
        let signed = input(header, claims)
        return signed + "." + Base64URL.encode(try key.signature(for: Data(signed.utf8)).rawRepresentation)
    }

    /// Signed by RS256 (RFC 7518, section 3.3), whose padding is PKCS #1's version 1.5.
    static func make(header: JSONObjectWriter, claims: JSONObjectWriter, key: _RSA.Signing.PrivateKey) throws -> String
    {
        let signed = input(header, claims)
        let signature = try key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
        return signed + "." + Base64URL.encode(signature.rawRepresentation)
    }

    private static func input(_ header: JSONObjectWriter, _ claims: JSONObjectWriter) -> String {
        Base64URL.encode(header.encoded) + "." + Base64URL.encode(claims.encoded)
    }
}
