import Crypto
import Foundation
package import Wire

/// Makes the opaque cursors of lists, and takes back only those it made for the same list and the same user.
package struct CursorSigner: Sendable {
    private static let signatureLength = 16
    private let key: SymmetricKey

    package init(secret: String) {
        // A key of its own for each use of the secret.
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)),
            info: Data("roost list cursor".utf8),
            outputByteCount: 32
        )
    }

    package func sign(_ position: some Encodable, of list: String, for user: User.ID) throws -> String {
        let payload = try WireJSON.encoder(sortedKeys: true).encode(position)
        return Base64URL.encode(payload + signature(payload, list, user))
    }

    /// - Throws: `invalid`, naming `cursor`, for one that is forged, of another list or another user's.
    package func position<Position: Decodable>(
        _ cursor: String,
        of list: String,
        for user: User.ID,
        as type: Position.Type = Position.self
    ) throws -> Position {
        let refusal = APIError.invalid("cursor", "the cursor is not one of this list's", code: "invalid_cursor")
        guard cursor.utf8.count <= 1_024, let data = Base64URL.decode(cursor), data.count > Self.signatureLength else {
            throw refusal
        }
        let payload = data.dropLast(Self.signatureLength)
        let expected = signature(payload, list, user)
        // Compared without an early end.
        guard zip(expected, data.suffix(Self.signatureLength)).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0 else {
            throw refusal
        }
        do {
            return try WireJSON.decoder().decode(type, from: Data(payload))
        } catch {
            throw refusal
        }
    }

    private func signature(_ payload: some DataProtocol, _ list: String, _ user: User.ID) -> Data {
        var hmac = HMAC<SHA256>(key: key)
        for part in [list, user.application, user.user] {
            hmac.update(data: Data("\(part.utf8.count):\(part)".utf8))
        }
        hmac.update(data: payload)
        return Data(Data(hmac.finalize()).prefix(Self.signatureLength))
    }
}
