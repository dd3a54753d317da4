package import Wire

/// A conversation one asks to have made.
package struct ConversationDraft: Sendable {
    /// 1–255 characters; a direct conversation may do without.
    package var label: String?
    /// Besides the creator.
    package var members: [String]
    package var whiteList: WhiteList?
    package var meta: JSONValue?
    package var type: String?
    package var joinByToken: Bool?

    package init(
        label: String? = nil,
        members: [String] = [],
        whiteList: WhiteList? = nil,
        meta: JSONValue? = nil,
        type: String? = nil,
        joinByToken: Bool? = nil
    ) {
        self.label = label
        self.members = members
        self.whiteList = whiteList
        self.meta = meta
        self.type = type
        self.joinByToken = joinByToken
    }
}

extension ConversationDraft: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        label = try container.decodeIfPresent(String.self, forKey: .label)
        members = try container.decodeIfPresent([String].self, forKey: .members) ?? []
        // Left out and null differ: the first is nobody by id and everybody by token, the second everybody by id.
        whiteList = container.contains(.whiteList) ? try container.decode(WhiteList.self, forKey: .whiteList) : nil
        meta = try container.decodeIfPresent(JSONValue.self, forKey: .meta)
        type = try container.decodeIfPresent(String.self, forKey: .type)
        joinByToken = try container.decodeIfPresent(Bool.self, forKey: .joinByToken)
    }
}

/// Who may join a conversation by its id.
package enum WhiteList: Hashable, Sendable {
    /// On the wire: `null`.
    case anyone
    case only([String])

    package var users: [String]? {
        if case .only(let users) = self { users } else { nil }
    }
}

extension WhiteList: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .anyone : .only(try container.decode([String].self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(users)
    }
}
