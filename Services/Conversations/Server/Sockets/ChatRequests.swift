import ConversationsAPI
import Wire

/// What the events `chats/…` say.
struct ChatReference: Decodable, Sendable {
    let chatId: Conversation.ID
}

/// What a REST request says of the conversation in its path: beside it, the chat.
struct InChat<Content: Decodable & Sendable>: Decodable, Sendable {
    let chatId: Conversation.ID
    let content: Content

    init(from decoder: any Decoder) throws {
        chatId = try ChatReference(from: decoder).chatId
        content = try Content(from: decoder)
    }
}

struct ChatQuery: Decodable, Sendable {
    /// As many as somebody has who is not a program.
    private static let maximum: Int64 = 500

    let type: String?
    let limit: Int64?
    let cursor: String?

    func kind() throws -> Conversation.Kind? {
        guard let type else { return nil }
        guard let kind = Conversation.Kind(rawValue: type) else {
            throw APIError.invalid("type", "\"type\" must be group or direct")
        }
        return kind
    }

    func count() throws -> Int {
        Int(try HistoryQuery.number(limit, "limit", in: 1...Self.maximum) ?? Self.maximum)
    }
}

/// `{chats}`, and `next` where there are more than are told at once.
struct ChatList: Encodable, Sendable {
    let chats: [Conversation]
    let next: String?

    init(_ page: Page<Conversation>) {
        chats = page.items
        next = page.next
    }
}

/// As diuit has it: without a white list, or with null, anyone may join.
struct ChatDraft: Decodable, Sendable {
    private enum CodingKeys: CodingKey {
        case label, members, whiteList, meta, type, joinByToken
    }

    let draft: ConversationDraft

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let type = try container.decodeIfPresent(String.self, forKey: .type)
        let isDirect = type == Conversation.Kind.direct.rawValue
        let whiteList = try container.decodeIfPresent(WhiteList.self, forKey: .whiteList)
        draft = ConversationDraft(
            label: try container.decodeIfPresent(String.self, forKey: .label),
            members: try container.decodeIfPresent([String].self, forKey: .members) ?? [],
            whiteList: whiteList ?? (isDirect ? nil : .anyone),
            meta: try container.decodeIfPresent(JSONValue.self, forKey: .meta),
            type: type,
            joinByToken: try container.decodeIfPresent(Bool.self, forKey: .joinByToken) ?? false
        )
    }
}

/// Whom a request is about.
struct UserReference: Decodable, Sendable {
    let userId: String
}

/// A chat, and who of its members is there, as far as the one who asks may know.
struct ChatDetail: Encodable, Sendable {
    private enum CodingKeys: CodingKey { case presences }

    let conversation: Conversation
    /// As the event `presence` has them.
    let presences: [Presence]

    init(_ conversation: Conversation, _ presences: [Presence]) {
        self.conversation = conversation
        self.presences = presences
    }

    func encode(to encoder: any Encoder) throws {
        try conversation.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(presences, forKey: .presences)
    }
}
