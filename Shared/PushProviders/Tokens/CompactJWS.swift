import Crypto
import CryptoExtras
import Foundation

/// A signed token in the compact serialization (RFC 7515, section 3.1).
enum CompactJWS {
    /// Signs with ES256; the signature is r and s as 32 bytes each (RFC 7518, section 3.4), not DER.
    static func make(header: JSONObjectWriter, claims: JSONObjectWriter, key: P256.Signing.PrivateKey) throws -> String
    {
        let signed = input(header, claims)
        return signed + "." + Base64URL.encode(try key.signature(for: Data(signed.utf8)).rawRepresentation)
    }

    /// Signs with RS256 (RFC 7518, section 3.3), which uses PKCS #1 v1.5 padding.
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
