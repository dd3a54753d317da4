import Crypto
import Foundation

/// Says whether we wrote something: 16 bytes of HMAC-SHA256, under a key of its own for each use of the secret.
struct MessageCode: Sendable {
    static let length = 16
    private let key: SymmetricKey

    init(secret: String, use: String) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
            info: Data(use.utf8),
            outputByteCount: 32
        )
    }

    /// The code of these parts, in this order and with no others, and of what follows them.
    func code(of parts: [String], followedBy payload: some DataProtocol = Data()) -> Data {
        var hmac = HMAC<SHA256>(key: key)
        for part in parts { hmac.update(data: Data("\(part.utf8.count):\(part)".utf8)) }
        hmac.update(data: payload)
        return Data(Data(hmac.finalize()).prefix(Self.length))
    }

    /// Whether `code` is theirs, compared without an early end.
    func isCode(_ code: Data, of parts: [String], followedBy payload: some DataProtocol = Data()) -> Bool {
        guard code.count == Self.length else { return false }
        return zip(self.code(of: parts, followedBy: payload), code).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
