package import Wire

/// What one asks to have edited of a message: `PATCH …/messages/{id}`.
package struct MessageChanges: Sendable {
    /// 1 to 65,536 bytes.
    package var data: String
    /// Replaced whole, and emptied by null; left out it stays.
    package var meta: JSONValue?

    package init(data: String, meta: JSONValue? = nil) {
        self.data = data
        self.meta = meta
    }
}

extension MessageChanges: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        data = try container.decode(String.self, forKey: .data)
        guard container.contains(.meta) else { return }
        meta = try container.decodeIfPresent(JSONValue.self, forKey: .meta) ?? .null
    }
}
