import Foundation
package import Wire

/// The signer of opaque list cursors, which accepts a cursor only for the list and user that it was created for.
package struct CursorSigner: Sendable {
    private let code: HMACSigner

    package init(secrets: [String]) {
        code = HMACSigner(secrets: secrets, use: "roost list cursor")
    }

    package func sign(_ position: some Encodable, of list: String, for user: User.ID) throws -> String {
        let payload = try WireJSON.encoder(sortedKeys: true).encode(position)
        return Base64URL.encode(payload + code.code(of: Self.parts(list, user), followedBy: payload))
    }

    /// Verifies a cursor and returns its position.
    ///
    /// - Parameters:
    ///   - cursor: the cursor that `sign` returned.
    ///   - list: the name of the list.
    ///   - user: the user who requests the list.
    ///   - length: the maximum length of the cursor in bytes.
    ///   - type: the type of the position.
    /// - Returns: the signed position.
    /// - Throws: `invalid_cursor` on the field `cursor` if the cursor is forged or belongs to another list or user.
    package func position<Position: Decodable>(
        _ cursor: String,
        of list: String,
        for user: User.ID,
        upTo length: Int = 1_024,
        as type: Position.Type = Position.self
    ) throws -> Position {
        let invalid = APIError.invalid("cursor", "the cursor is not valid for this list", code: "invalid_cursor")
        guard cursor.utf8.count <= length, let data = Base64URL.decode(cursor), data.count > HMACSigner.length else {
            throw invalid
        }
        let payload = data.dropLast(HMACSigner.length)
        let given = data.suffix(HMACSigner.length)
        guard code.isValid(given, of: Self.parts(list, user), followedBy: payload) else { throw invalid }
        do {
            return try WireJSON.decoder().decode(type, from: Data(payload))
        } catch {
            throw invalid
        }
    }

    private static func parts(_ list: String, _ user: User.ID) -> [String] {
        [list, user.application, user.user]
    }
}
