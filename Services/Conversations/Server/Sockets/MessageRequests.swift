import ConversationsAPI
import Wire

/// The payload of `messages/sendDirect`.
struct DirectMessageDraft: Decodable, Sendable {
    private enum CodingKeys: CodingKey { case userId }

    let userId: String
    let draft: MessageDraft

    init(from decoder: any Decoder) throws {
        userId = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .userId)
        draft = try MessageDraft(from: decoder)
    }
}

struct MessageReference: Decodable, Sendable {
    private let messageId: Message.ID

    /// - Throws: `notFound` for a number that cannot be a message's id.
    func id() throws -> Message.ID {
        guard messageId.rawValue > 0, messageId.rawValue < 1 << 53 else { throw Messages.notFound }
        return messageId
    }
}

struct MessageEdit: Decodable, Sendable {
    let message: MessageReference
    let changes: MessageChanges

    init(from decoder: any Decoder) throws {
        message = try MessageReference(from: decoder)
        changes = try MessageChanges(from: decoder)
    }
}

struct MessageReaction: Decodable, Sendable {
    private enum CodingKeys: CodingKey { case emoji, remove }

    let message: MessageReference
    let emoji: String
    let isRemoved: Bool

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        message = try MessageReference(from: decoder)
        emoji = try container.decode(String.self, forKey: .emoji)
        isRemoved = try container.decodeIfPresent(Bool.self, forKey: .remove) ?? false
    }
}

struct ChatReadBefore: Decodable, Sendable {
    let chatId: Conversation.ID
    let before: Moment
}

/// The payload of `messages/sync`, which starts after a change or after a message.
struct SyncQuery: Decodable, Sendable {
    enum Start {
        case change(Int64)
        case seq(Int64)
    }

    let chatId: Conversation.ID
    private let after: Int64?
    private let afterSeq: Int64?
    private let limit: Int64?

    func start() throws -> Start {
        let change = try HistoryQuery.number(after, "after", in: HistoryQuery.counters)
        let seq = try HistoryQuery.number(afterSeq, "afterSeq", in: HistoryQuery.counters)
        switch (change, seq) {
        case (let change?, nil): return .change(change)
        case (nil, let seq?): return .seq(seq)
        case (nil, nil): throw APIError.missing("after")
        case (.some, .some):
            let message = "set either \"after\" or \"afterSeq\", not both"
            throw APIError.invalid("afterSeq", message, code: "conflicting_parameters")
        }
    }

    func count() throws -> Int {
        Int(try HistoryQuery.number(limit, "limit", in: 1...100) ?? Int64(Sync.page))
    }
}
