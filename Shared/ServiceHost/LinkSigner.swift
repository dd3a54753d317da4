import Crypto
import Foundation
import Wire

/// Signs links that work without a credential, and knows its own again.
package struct LinkSigner: Sendable {
    private static let signatureLength = 16
    private let key: SymmetricKey

    package init(secret: String) {
        // A key of its own for each use of the secret.
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
            info: Data("roost signed link".utf8),
            outputByteCount: 32
        )
    }

    /// 22 characters that go with these parts of a link, in this order, and with no others.
    package func signature(of parts: [String]) -> String {
        Base64URL.encode(code(of: parts))
    }

    package func isSignature(_ signature: String, of parts: [String]) -> Bool {
        guard let given = Base64URL.decode(signature), given.count == Self.signatureLength else { return false }
        // Compared without an early end.
        return zip(code(of: parts), given).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private func code(of parts: [String]) -> Data {
        var hmac = HMAC<SHA256>(key: key)
        for part in parts { hmac.update(data: Data("\(part.utf8.count):\(part)".utf8)) }
        return Data(Data(hmac.finalize()).prefix(Self.signatureLength))
    }
}
