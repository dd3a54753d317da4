import Crypto
import Foundation

/// Authenticates what this service wrote: 16 bytes of HMAC-SHA256, under a key of its own for each use of the secret.
struct HMACSigner: Sendable {
    static let length = 16
    private let keys: [SymmetricKey]

    /// - Parameters:
    ///   - secrets: the first one makes codes; codes of any are accepted, so that a secret can be replaced.
    ///   - use: what the codes are for.
    init(secrets: [String], use: String) {
        keys = secrets.map { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
                info: Data(use.utf8),
                outputByteCount: 32
            )
        }
    }

    /// The code of these parts, in this order and with no others, and of the payload after them.
    func code(of parts: [String], followedBy payload: some DataProtocol = Data()) -> Data {
        keys.first.map { Self.code(of: parts, followedBy: payload, key: $0) } ?? Data()
    }

    /// Whether `code` belongs to these parts; the comparison takes the same time for any code.
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
