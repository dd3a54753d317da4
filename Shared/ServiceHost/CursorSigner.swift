import Foundation
package import Wire

/// Makes the opaque cursors of lists, and takes back only those it made for the same list and the same user.
package struct CursorSigner: Sendable {
    private let code: HMACSigner

    package init(secrets: [String]) {
        code = HMACSigner(secrets: secrets, use: "roost list cursor")
    }

    package func sign(_ position: some Encodable, of list: String, for user: User.ID) throws -> String {
        let payload = try WireJSON.encoder(sortedKeys: true).encode(position)
        return Base64URL.encode(payload + code.code(of: Self.parts(list, user), followedBy: payload))
    }

    /// - Parameters:
    ///   - cursor: as `sign` made it.
    ///   - list: what it was made for.
    ///   - user: whom it was made for.
    ///   - length: how long it may be, in characters.
    ///   - type: what it holds.
    /// - Returns: what was signed.
    /// - Throws: `invalid`, naming `cursor`, for one that is forged, of another list or another user's.
    package func position<Position: Decodable>(
        _ cursor: String,
        of list: String,
        for user: User.ID,
        upTo length: Int = 1_024,
        as type: Position.Type = Position.self
    ) throws -> Position {
        let refusal = APIError.invalid("cursor", "the cursor is not one of this list's", code: "invalid_cursor")
        guard cursor.utf8.count <= length, let data = Base64URL.decode(cursor), data.count > HMACSigner.length else {
            throw refusal
        }
        let payload = data.dropLast(HMACSigner.length)
        let given = data.suffix(HMACSigner.length)
        guard code.isValid(given, of: Self.parts(list, user), followedBy: payload) else { throw refusal }
        do {
            return try WireJSON.decoder().decode(type, from: Data(payload))
        } catch {
            throw refusal
        }
    }

    private static func parts(_ list: String, _ user: User.ID) -> [String] {
        [list, user.application, user.user]
    }
}
