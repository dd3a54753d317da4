import Crypto
import Foundation
import ServiceHost
import Wire

/// Decrypts tokens that clients send encrypted: JWE in compact serialization, `ECDH-ES` on P-256 with `A256GCM`
/// (RFC 7516, RFC 7518 section 4.6).
///
/// All instances derive the same private keys from `TOKEN_ENCRYPTION_KEY`, so no key is stored. The first key is
/// published. The others decrypt values that were encrypted before the setting got a new first key.
struct TokenEncryption: Sendable {
    /// The maximum length of an encrypted token, in characters: a token of 8,192 characters with its header fits.
    static let maximumLength = 16_384
    private static let maximumHeader = 2_048
    private static let algorithm = "ECDH-ES"
    private static let contentEncryption = "A256GCM"

    private struct Key {
        let id: String
        let privateKey: P256.KeyAgreement.PrivateKey
    }

    private let keys: [Key]

    init(_ encryptor: TokenEncryptor) throws {
        let candidates = (0..<4).map { encryptor.derivedKeys(for: "roost social token encryption \($0)") }
        keys = try candidates[0].indices.map { index in
            try Self.key(from: candidates.map { $0[index] })
        }
    }

    /// Returns the first candidate that is a valid private key of P-256; a derived value is invalid once in 2^32 times.
    private static func key(from candidates: [SymmetricKey]) throws -> Key {
        for candidate in candidates {
            let bytes = candidate.withUnsafeBytes { Data($0) }
            // The error is ignored because the next candidate is tried.
            guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes) else { continue }
            return Key(id: thumbprint(of: key.publicKey), privateKey: key)
        }
        throw TokenEncryptor.Failure.malformedKey
    }

    /// The published key as a JWK set (RFC 7517).
    var document: JSONValue {
        let keys = keys.prefix(1).map { key -> JSONValue in
            var fields = Self.fields(of: key.privateKey.publicKey)
            fields["kid"] = .string(key.id)
            fields["use"] = .string("enc")
            fields["alg"] = .string(Self.algorithm)
            return .object(fields)
        }
        return .object(["keys": .array(Array(keys))])
    }

    /// Returns the decrypted text if `text` is a JWE, and otherwise `text` itself.
    ///
    /// - Throws: `malformed_token_encryption` for a JWE that cannot be decrypted; `unknown_encryption_key` for one
    ///   that was encrypted with another key.
    func open(_ text: String, field: String) throws -> String {
        guard text.utf8.count <= Self.maximumLength, let message = EncryptedMessage(text, Self.maximumHeader) else {
            // No network's tokens look like a JWE, so a damaged one must not be sent to the network as a token.
            guard Self.hasShapeOfJWE(text) else { return text }
            throw Self.malformed(field, "the encrypted token is not a valid compact JWE, or is too long")
        }
        let header = message.header
        guard header["alg"]?.text == Self.algorithm, header["enc"]?.text == Self.contentEncryption,
            header["crit"] == nil, header["zip"] == nil
        else {
            let supported = "\(Self.algorithm) with \(Self.contentEncryption), without compression"
            throw Self.malformed(field, "an encrypted token uses \(supported)")
        }
        let keyID = header["kid"]?.text
        let candidates = keys.filter { keyID == nil || $0.id == keyID }
        guard !candidates.isEmpty else {
            let reason = "the token was encrypted with a key that is not in use; get the key from GET /networks/keys"
            throw APIError.invalid(field, reason, code: "unknown_encryption_key")
        }
        for key in candidates {
            // The error is ignored: without `kid` every key is tried, and the error below reports that none fits.
            guard let plain = try? message.decrypt(with: key.privateKey, for: Self.contentEncryption) else { continue }
            guard let text = String(bytes: plain, encoding: .utf8) else { break }
            return text
        }
        throw Self.malformed(field, "the encrypted token cannot be decrypted with the key of GET /networks/keys")
    }

    /// Whether the text has the five parts of a compact JWE (RFC 7516) and begins as a JSON header in Base64 does.
    private static func hasShapeOfJWE(_ text: String) -> Bool {
        text.hasPrefix("eyJ") && text.utf8.count { $0 == UInt8(ascii: ".") } == 4
    }

    private static func malformed(_ field: String, _ message: String) -> APIError {
        APIError.invalid(field, message, code: "malformed_token_encryption")
    }

    private static func fields(of key: P256.KeyAgreement.PublicKey) -> [String: JSONValue] {
        let point = key.rawRepresentation
        return [
            "kty": .string("EC"), "crv": .string("P-256"), "x": .string(Base64URL.encode(point.prefix(32))),
            "y": .string(Base64URL.encode(point.suffix(32))),
        ]
    }

    /// Returns the thumbprint of RFC 7638: the hash of the members in alphabetical order without white space.
    private static func thumbprint(of key: P256.KeyAgreement.PublicKey) -> String {
        let (x, y) = (
            Base64URL.encode(key.rawRepresentation.prefix(32)), Base64URL.encode(key.rawRepresentation.suffix(32))
        )
        let text = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return Base64URL.encode(Data(SHA256.hash(data: Data(text.utf8))))
    }
}

/// The five parts of a JWE in compact serialization.
private struct EncryptedMessage {
    private enum Failure: Error { case malformed }

    let header: JSONValue
    private let parts: [Substring]

    /// Returns nil for a text that is not a JWE, such as a plain token.
    init?(_ text: String, _ maximumHeader: Int) {
        parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].utf8.count <= maximumHeader, let bytes = Base64URL.decode(parts[0]),
            // The error is ignored: a text whose first part is not JSON is not a JWE.
            let header = try? JSONParser.parse(bytes), header["alg"]?.text != nil, header["enc"]?.text != nil
        else { return nil }
        self.header = header
    }

    func decrypt(with key: P256.KeyAgreement.PrivateKey, for algorithm: String) throws -> Data {
        // Direct key agreement has no encrypted key.
        guard parts[1].isEmpty, let nonce = Base64URL.decode(parts[2]), nonce.count == 12,
            let ciphertext = Base64URL.decode(parts[3]), let tag = Base64URL.decode(parts[4]), tag.count == 16
        else { throw Failure.malformed }
        let secret = try key.sharedSecretFromKeyAgreement(with: ephemeralKey())
        let contentKey = ConcatKDF.key(
            from: secret.withUnsafeBytes { Data($0) },
            algorithm: algorithm,
            bits: 256,
            partyU: try bytes("apu"),
            partyV: try bytes("apv")
        )
        let box = try AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
        return try AES.GCM.open(box, using: contentKey, authenticating: Data(parts[0].utf8))
    }

    /// Returns the sender's ephemeral key; throws for a point that is not on the curve.
    private func ephemeralKey() throws -> P256.KeyAgreement.PublicKey {
        let key = header["epk"]
        guard key?["kty"]?.text == "EC", key?["crv"]?.text == "P-256",
            let x = key?["x"]?.text.flatMap({ Base64URL.decode($0) }), x.count == 32,
            let y = key?["y"]?.text.flatMap({ Base64URL.decode($0) }), y.count == 32
        else { throw Failure.malformed }
        return try P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
    }

    private func bytes(_ name: String) throws -> Data {
        guard let value = header[name] else { return Data() }
        guard let bytes = value.text.flatMap({ Base64URL.decode($0) }) else { throw Failure.malformed }
        return bytes
    }
}

/// The key derivation of `ECDH-ES` (RFC 7518 section 4.6.2; NIST SP 800-56A) with SHA-256, for keys of at most 256 bits.
enum ConcatKDF {
    static func key(
        from secret: Data,
        algorithm: String,
        bits: UInt32,
        partyU: Data,
        partyV: Data
    ) -> SymmetricKey {
        // One round of SHA-256 gives 256 bits.
        var input = bytes(of: 1)
        input.append(secret)
        for part in [Data(algorithm.utf8), partyU, partyV] {
            input.append(bytes(of: UInt32(truncatingIfNeeded: part.count)))
            input.append(part)
        }
        input.append(bytes(of: bits))
        return SymmetricKey(data: Data(SHA256.hash(data: input)).prefix(Int(bits / 8)))
    }

    private static func bytes(of number: UInt32) -> Data { withUnsafeBytes(of: number.bigEndian) { Data($0) } }
}
