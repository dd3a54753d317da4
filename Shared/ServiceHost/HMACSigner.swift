import Crypto
import Foundation

/// A message authentication code of 16 bytes: HMAC-SHA256 with a separate derived key for each use of a secret.
struct HMACSigner: Sendable {
    static let length = 16
    private let keys: [SymmetricKey]

    /// Derives the keys.
    ///
    /// - Parameters:
    ///   - secrets: the first secret signs; all are accepted for verification, so that a secret can be rotated.
    ///   - use: the purpose of the codes, from which the key is derived.
    init(secrets: [String], use: String) {
        keys = secrets.map { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
                info: Data(use.utf8),
                outputByteCount: 32
            )
        }
    }

    /// Returns the code of the parts in this order, followed by the payload; each part's length is included.
    func code(of parts: [String], followedBy payload: some DataProtocol = Data()) -> Data {
        keys.first.map { Self.code(of: parts, followedBy: payload, key: $0) } ?? Data()
    }

    /// Returns whether `code` is valid for these parts, in constant time.
    func isValid(_ code: Data, of parts: [String], followedBy payload: some DataProtocol = Data()) -> Bool {
        guard code.count == Self.length else { return false }
        return keys.contains { key in
            let expected = Self.code(of: parts, followedBy: payload, key: key)
            return zip(expected, code).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
        }
    }

    private static func code(
        of parts: [String],
        followedBy payload: some DataProtocol,
        key: SymmetricKey
    ) -> Data {
        var hmac = HMAC<SHA256>(key: key)
        for part in parts { hmac.update(data: Data("\(part.utf8.count):\(part)".utf8)) }
        hmac.update(data: payload)
        return Data(Data(hmac.finalize()).prefix(length))
    }
}
