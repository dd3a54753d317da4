package import Wire

/// The body of `POST /conversations/create`.
package struct ConversationDraft: Sendable {
    /// From 1 to 255 characters; optional for a direct conversation.
    package var label: String?
    /// The members other than the creator.
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
        // An absent list admits no user by id and every user by token; null admits every user by id.
        whiteList = container.contains(.whiteList) ? try container.decode(WhiteList.self, forKey: .whiteList) : nil
        meta = try container.decodeIfPresent(JSONValue.self, forKey: .meta)
        type = try container.decodeIfPresent(String.self, forKey: .type)
        joinByToken = try container.decodeIfPresent(Bool.self, forKey: .joinByToken)
    }
}

/// The users who may join a conversation by its id.
package enum WhiteList: Hashable, Sendable {
    /// Encoded as `null`.
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
