package import Crypto
package import Foundation
import Wire

/// Encrypts what must not be readable in the database: AES-256-GCM, bound to the row it belongs to.
///
/// `TOKEN_ENCRYPTION_KEY` holds one key or several, comma-separated, each 32 bytes in base64 or hex. The first seals;
/// the others only open, so that a key can be replaced without a gap.
package struct TokenEncryptor: Sendable {
    /// A sealed value and the id of the key it was sealed with.
    package struct EncryptedValue: Hashable, Sendable {
        package var box: Data
        package var keyID: String

        package init(box: Data, keyID: String) {
            self.box = box
            self.keyID = keyID
        }
    }

    /// Why a setting or a value cannot be used; says nothing of either.
    package enum Failure: Error, CustomStringConvertible {
        case malformedKey
        case unknownKey(String)
        case tampered

        package var description: String {
            switch self {
            case .malformedKey:
                "TOKEN_ENCRYPTION_KEY must be 32 bytes in base64 or hex, or several such keys, comma-separated"
            case .unknownKey(let id):
                "TOKEN_ENCRYPTION_KEY lacks the key \(id), which something in the database was encrypted with"
            case .tampered: "an encrypted value does not belong where it was found"
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

    /// Seals a value for what it belongs to; it opens for nothing else.
    package func seal(_ value: Data, for owner: String) throws -> EncryptedValue {
        let (id, key) = keys[0]
        let box = try AES.GCM.seal(value, using: key, authenticating: Data(owner.utf8))
        guard let combined = box.combined else { throw Failure.tampered }
        return EncryptedValue(box: combined, keyID: id)
    }

    /// The id of the key that seals now.
    package var currentKeyID: String { keys[0].id }

    /// Whether values of this key can be decrypted.
    package func has(_ keyID: String) -> Bool { keys.contains { $0.id == keyID } }

    package func open(_ sealed: EncryptedValue, for owner: String) throws -> Data {
        guard let key = keys.first(where: { $0.id == sealed.keyID })?.key else {
            throw Failure.unknownKey(sealed.keyID)
        }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed.box)
            return try AES.GCM.open(box, using: key, authenticating: Data(owner.utf8))
        } catch {
            throw Failure.tampered
        }
    }

    /// Secrets made of the keys for another purpose, the sealing key's first.
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
