import Crypto
import Foundation

/// Encrypts for one browser (RFC 8291), in one record of `aes128gcm` (RFC 8188).
struct WebPushEncryption {
    /// What a push service has to take (RFC 8030, section 7.2), and the size of the record.
    static let limit = 4_096
    /// Salt, the record's size, the length of the key and the key.
    private static let header = 16 + 4 + 1 + 65
    /// The delimiter and AES-GCM's tag.
    private static let overhead = 1 + 16
    /// How long a text may be: 3,993 bytes.
    static let textLimit = limit - header - overhead

    private let receiver: P256.KeyAgreement.PublicKey
    private let secret: Data

    /// Nil where the keys are none, or the secret has not 16 bytes.
    init?(p256dh: String, auth: String) {
        guard let point = Base64URL.decode(p256dh), let secret = Base64URL.decode(auth), secret.count == 16,
            let receiver = try? P256.KeyAgreement.PublicKey(x963Representation: point)
        else { return nil }
        self.receiver = receiver
        self.secret = secret
    }

    /// The body of a request; key and salt are new for each, as one used twice would give both texts away.
    func encrypt(
        _ text: [UInt8],
        key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        salt: [UInt8] = Self.randomSalt()
    ) throws -> [UInt8] {
        let sender = key.publicKey.x963Representation
        // Section 3.4: the secret of both keys, mixed with the one that only the browser gave out.
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
            // 2 ends the last record; there is one.
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
