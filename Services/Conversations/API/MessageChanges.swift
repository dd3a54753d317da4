package import Wire

/// The body of `PATCH …/messages/{id}`.
package struct MessageChanges: Sendable {
    /// From 1 to 65,536 bytes.
    package var data: String
    /// Replaces the whole value; null clears it, and an absent field leaves it unchanged.
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
