import Crypto
import Foundation

/// The encryption for one browser (RFC 8291), as one record of `aes128gcm` (RFC 8188).
struct WebPushEncryption {
    /// The size that every push service must accept (RFC 8030, section 7.2), and the size of the record.
    static let limit = 4_096
    /// Salt, record size, key length and key.
    private static let header = 16 + 4 + 1 + 65
    /// The delimiter and the tag of AES-GCM.
    private static let overhead = 1 + 16
    /// The maximum size of the plaintext: 3,993 bytes.
    static let textLimit = limit - header - overhead

    private let receiver: P256.KeyAgreement.PublicKey
    private let secret: Data

    /// Returns nil if the key is not a P-256 point or the secret does not have 16 bytes.
    init?(p256dh: String, auth: String) {
        guard let point = Base64URL.decode(p256dh), let secret = Base64URL.decode(auth), secret.count == 16,
            let receiver = try? P256.KeyAgreement.PublicKey(x963Representation: point)
        else { return nil }
        self.receiver = receiver
        self.secret = secret
    }

    /// Returns the body of a request.
    ///
    /// Key and salt are new for each request, because reusing them would reveal both plaintexts.
    func encrypt(
        _ text: [UInt8],
        key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        salt: [UInt8] = Self.randomSalt()
    ) throws -> [UInt8] {
        let sender = key.publicKey.x963Representation
        // RFC 8291, section 3.4: the shared secret of both keys, combined with the browser's authentication secret.
        let information = Data("WebPush: info\0".utf8) + receiver.x963Representation + sender
        let input = try key.sharedSecretFromKeyAgreement(with: receiver).hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: secret,
            sharedInfo: information,
            outputByteCount: 32
        )
        let contentKey = derive(input, salt, "Content-Encoding: aes128gcm\0", 16)
        let nonce = derive(input, salt, "Content-Encoding: nonce\0", 12)
        let sealed = try AES.GCM.seal(
            // The delimiter 2 marks the last record; there is only one.
            text + [2],
            using: contentKey,
            nonce: AES.GCM.Nonce(data: nonce.withUnsafeBytes { Data($0) })
        )
        var body = salt
        body.reserveCapacity(Self.header + text.count + Self.overhead)
        body += [UInt8(Self.limit >> 24 & 255), UInt8(Self.limit >> 16 & 255), UInt8(Self.limit >> 8), 0]
        body.append(UInt8(sender.count))
        body += sender
        body += sealed.ciphertext
        body += sealed.tag
        return body
    }

    private func derive(_ input: SymmetricKey, _ salt: [UInt8], _ purpose: String, _ length: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: input,
            salt: salt,
            info: Data(purpose.utf8),
            outputByteCount: length
        )
    }

    static func randomSalt() -> [UInt8] {
        SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    }
}
