import Crypto
import Foundation

/// The body of a push message: one record of `aes128gcm` (RFC 8188), encrypted for a browser (RFC 8291).
struct PushRecord {
    struct DecryptionError: Error {
        let text: String
    }

    private static let saltLength = 16
    /// The header: salt, record size, length of the key id, and the sender's point as the key id.
    private static let headerLength = 86
    private static let tagLength = 16

    private let salt: Data
    private let sender: P256.KeyAgreement.PublicKey
    private let ciphertext: Data

    init(_ body: Data) throws(DecryptionError) {
        let body = Data(body)
        guard body.count >= Self.headerLength + Self.tagLength + 1 else {
            throw DecryptionError(text: "the body is too short for a header and a record")
        }
        salt = Data(body.prefix(Self.saltLength))
        let size = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        guard body[20] == 65 else { throw DecryptionError(text: "the key id is not a point of 65 bytes") }
        // The error message names the cause.
        guard let sender = try? P256.KeyAgreement.PublicKey(x963Representation: body[21..<86]) else {
            throw DecryptionError(text: "the key id is not a point on P-256")
        }
        self.sender = sender
        ciphertext = Data(body.dropFirst(Self.headerLength))
        guard size >= 18, ciphertext.count <= size else { throw DecryptionError(text: "the body must be one record") }
    }

    /// Returns the content that the browser decrypts.
    func decrypted(by browser: Subscriptions.Browser) throws(DecryptionError) -> [UInt8] {
        guard let shared = try? browser.key.sharedSecretFromKeyAgreement(with: sender),
            let plain = try? open(with: keys(from: shared, of: browser))
        else { throw DecryptionError(text: "the record cannot be decrypted with the subscription's keys") }
        // Padding is zeros after a delimiter, which is 2 in the last record.
        guard let end = plain.lastIndex(where: { $0 != 0 }), plain[end] == 2 else {
            throw DecryptionError(text: "the record has no delimiter of a last record")
        }
        return Array(plain[..<end])
    }

    private func keys(
        from shared: SharedSecret,
        of browser: Subscriptions.Browser
    ) -> (key: SymmetricKey, nonce: Data) {
        let points = browser.key.publicKey.x963Representation + sender.x963Representation
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: browser.auth,
            sharedInfo: Data("WebPush: info\0".utf8) + points,
            outputByteCount: 32
        )
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material,
                salt: salt,
                info: Data("Content-Encoding: \(info)\0".utf8),
                outputByteCount: count
            )
        }
        return (derive("aes128gcm", 16), derive("nonce", 12).withUnsafeBytes { Data($0) })
    }

    private func open(with keys: (key: SymmetricKey, nonce: Data)) throws -> Data {
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: keys.nonce),
            ciphertext: ciphertext.dropLast(Self.tagLength),
            tag: ciphertext.suffix(Self.tagLength)
        )
        return try AES.GCM.open(box, using: keys.key)
    }
}
