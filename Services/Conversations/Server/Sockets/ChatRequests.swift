import ConversationsAPI
import Wire

/// The payload of `chats/…` events about one chat.
struct ChatReference: Decodable, Sendable {
    let chatId: Conversation.ID
}

/// The payload of an event that combines a chat's id with the body of the corresponding REST request.
struct InChat<Content: Decodable & Sendable>: Decodable, Sendable {
    let chatId: Conversation.ID
    let content: Content

    init(from decoder: any Decoder) throws {
        chatId = try ChatReference(from: decoder).chatId
        content = try Content(from: decoder)
    }
}

struct ChatQuery: Decodable, Sendable {
    /// The maximum number of chats in a response, which suffices for a human user.
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

/// The response `{chats}`, with `next` when there are more chats than one response has.
struct ChatList: Encodable, Sendable {
    let chats: [Conversation]
    let next: String?

    init(_ page: Page<Conversation>) {
        chats = page.items
        next = page.next
    }
}

/// The payload of `chats/create`; without a white list, or with null, any user may join, as in diuit.
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

/// The user that a request is about.
struct UserReference: Decodable, Sendable {
    let userId: String
}

/// A chat with the presences of its members, as far as the caller may see them.
struct ChatDetail: Encodable, Sendable {
    private enum CodingKeys: CodingKey { case presences }

    let conversation: Conversation
    /// Encoded as in the event `presence`.
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
