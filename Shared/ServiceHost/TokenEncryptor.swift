package import Crypto
package import Foundation
import Wire

/// The encryption of secrets in the database: AES-256-GCM, bound to the row that a value belongs to.
///
/// `TOKEN_ENCRYPTION_KEY` contains one or more keys, separated by commas, each 32 bytes in base64 or hex. The first key
/// encrypts; all keys decrypt, so that a key can be rotated without downtime.
package struct TokenEncryptor: Sendable {
    /// An encrypted value and the id of its key.
    package struct EncryptedValue: Hashable, Sendable {
        package var box: Data
        package var keyID: String

        package init(box: Data, keyID: String) {
            self.box = box
            self.keyID = keyID
        }
    }

    /// The error of an invalid setting or value; contains neither.
    package enum Failure: Error, CustomStringConvertible {
        case malformedKey
        case unknownKey(String)
        case tampered

        package var description: String {
            switch self {
            case .malformedKey:
                "TOKEN_ENCRYPTION_KEY must be 32 bytes in base64 or hex, or several such keys, comma-separated"
            case .unknownKey(let id):
                "TOKEN_ENCRYPTION_KEY does not contain the key \(id), which encrypted values in the database use"
            case .tampered: "an encrypted value was modified or copied from another row"
            }
        }
    }

    private let keys: [(id: String, key: SymmetricKey)]

    package init(keys setting: String) throws {
        keys = try setting.split(separator: ",").map { text in
            let text = text.trimmingCharacters(in: .whitespaces)
            guard let bytes = Self.bytes(of: text), bytes.count == 32 else { throw Failure.malformedKey }
            return (Self.id(of: bytes), SymmetricKey(data: bytes))
        }
        guard !keys.isEmpty else { throw Failure.malformedKey }
    }

    /// Encrypts a value for its owner; it can only be decrypted for the same owner.
    package func seal(_ value: Data, for owner: String) throws -> EncryptedValue {
        let (id, key) = keys[0]
        let box = try AES.GCM.seal(value, using: key, authenticating: Data(owner.utf8))
        guard let combined = box.combined else { throw Failure.tampered }
        return EncryptedValue(box: combined, keyID: id)
    }

    /// The id of the key that encrypts.
    package var currentKeyID: String { keys[0].id }

    /// Returns whether values of this key can be decrypted.
    package func has(_ keyID: String) -> Bool { keys.contains { $0.id == keyID } }

    package func open(_ encrypted: EncryptedValue, for owner: String) throws -> Data {
        guard let key = keys.first(where: { $0.id == encrypted.keyID })?.key else {
            throw Failure.unknownKey(encrypted.keyID)
        }
        do {
            let box = try AES.GCM.SealedBox(combined: encrypted.box)
            return try AES.GCM.open(box, using: key, authenticating: Data(owner.utf8))
        } catch {
            throw Failure.tampered
        }
    }

    /// Returns keys derived for another purpose; the first is derived from the current encryption key.
    package func derivedKeys(for purpose: String) -> [SymmetricKey] {
        keys.map { _, key in
            HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: Data(purpose.utf8), outputByteCount: 32)
        }
    }

    private static func id(of key: Data) -> String {
        SHA256.hash(data: Data("roost key id".utf8) + key).prefix(4).map { String(format: "%02x", $0) }.joined()
    }

    private static func bytes(of text: String) -> Data? {
        guard text.utf8.count == 64 else { return Data(base64Encoded: text) ?? Base64URL.decode(text) }
        var bytes = Data()
        var rest = text[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
