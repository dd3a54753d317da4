import Credentials
import Crypto
import CryptoExtras
import Foundation
import Wire

/// A public key of a provider, which verifies with exactly one algorithm (RFC 8725, section 3.1).
struct ProviderKey: Sendable {
    private enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey, size: Int)
        case p256(P256.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    let id: String?
    private let material: Material

    /// RS256, ES256 or EdDSA.
    var algorithm: String {
        switch material {
        case .rsa: "RS256"
        case .p256: "ES256"
        case .ed25519: "EdDSA"
        }
    }

    /// Parses a key (RFC 7517); returns nil for a key with another purpose, a weak key, or an unsupported type.
    init?(_ json: JSONValue) {
        guard let kty = json["kty"]?.text, json["use"].map({ $0.text == "sig" }) ?? true,
            Self.mayVerify(json["key_ops"])
        else { return nil }
        func bytes(_ name: String) -> Data? { json[name]?.text.flatMap { Base64URL.decode($0) } }
        switch (kty, json["crv"]?.text) {
        case ("RSA", _):
            // At least 2,048 bits (RFC 7518, section 3.3), and at most 8,192 bits, because larger keys are too slow to
            // verify.
            guard let n = bytes("n"), let e = bytes("e"), (256...1_024).contains(n.count), (1...8).contains(e.count),
                // With an exponent of 1, every message is its own signature.
                e.last.map({ $0 & 1 == 1 }) ?? false, Data(e.drop { $0 == 0 }) != Data([1]),
                // Numbers that are not a valid key are skipped without an error.
                let key = try? _RSA.Signing.PublicKey(n: n, e: e)
            else { return nil }
            material = .rsa(key, size: n.count)
        case ("EC", "P-256"):
            guard let x = bytes("x"), let y = bytes("y"), x.count == 32, y.count == 32,
                // A point that is not on the curve is skipped without an error.
                let key = try? P256.Signing.PublicKey(x963Representation: Data([4]) + x + y)
            else { return nil }
            material = .p256(key)
        case ("OKP", "Ed25519"):
            // An invalid key is skipped without an error.
            guard let x = bytes("x"), let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x) else {
                return nil
            }
            material = .ed25519(key)
        default: return nil
        }
        id = json["kid"]?.text
        guard json["alg"].map({ $0.text == algorithm }) ?? true else { return nil }
    }

    /// Returns whether `key_ops`, if present, includes verification (RFC 7517, section 4.3).
    private static func mayVerify(_ operations: JSONValue?) -> Bool {
        guard let operations else { return true }
        guard case .array(let all) = operations else { return false }
        return all.contains { $0.text == "verify" }
    }

    func verifies(_ jws: CompactJWS) -> Bool {
        guard jws.algorithm == algorithm else { return false }
        switch material {
        case .rsa(let key, let size):
            guard jws.signature.count == size else { return false }
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: jws.signature),
                for: SHA256.hash(data: jws.signingInput),
                padding: .insecurePKCS1v1_5
            )
        case .p256(let key):
            // Malformed bytes are an invalid signature.
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: jws.signature) else {
                return false
            }
            return key.isValidSignature(signature, for: jws.signingInput)
        case .ed25519(let key): return key.isValidSignature(jws.signature, for: jws.signingInput)
        }
    }
}

struct ProviderKeySet: Sendable {
    /// The most keys that are read; further keys are ignored.
    private static let maximum = 64

    private let keys: [ProviderKey]

    /// - Throws: `ProviderError` if the document has no keys, or none that is supported here.
    init(_ json: JSONValue) throws {
        guard case .array(let all) = json["keys"] else { throw ProviderError("the key document has no keys") }
        keys = all.prefix(Self.maximum).compactMap(ProviderKey.init)
        guard !keys.isEmpty else { throw ProviderError("the key document has no key for RS256, ES256 or EdDSA") }
    }

    /// Returns the key that a token names.
    ///
    /// A token without a key id uses the only key of its algorithm (OpenID Connect Core, 10.1).
    func key(for jws: CompactJWS) -> ProviderKey? {
        let fitting = keys.filter { $0.algorithm == jws.algorithm && (jws.keyID == nil || $0.id == jws.keyID) }
        return fitting.count == 1 ? fitting[0] : nil
    }
}
