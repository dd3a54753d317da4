package import Wire

/// The body of `PUT …/label`.
package struct LabelReplacement: Codable, Sendable {
    package var label: String

    package init(label: String) { self.label = label }
}

/// The body of `PUT …/meta`, which replaces the whole value; null clears it.
package struct MetaReplacement: Sendable {
    package var meta: JSONValue

    package init(meta: JSONValue) { self.meta = meta }
}

extension MetaReplacement: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.contains(.meta) else { throw APIError.missing("meta") }
        meta = try container.decodeIfPresent(JSONValue.self, forKey: .meta) ?? .null
    }
}

/// The body of `PUT …/whiteList`, which replaces the whole list.
package struct WhiteListReplacement: Sendable {
    package var whiteList: WhiteList

    package init(whiteList: WhiteList) { self.whiteList = whiteList }
}

extension WhiteListReplacement: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.contains(.whiteList) else { throw APIError.missing("whiteList") }
        whiteList = try container.decode(WhiteList.self, forKey: .whiteList)
    }
}

/// The body of `POST …/kick`.
package struct Kick: Codable, Sendable {
    package var userId: String

    package init(userId: String) { self.userId = userId }
}
