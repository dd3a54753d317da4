import ConversationsAPI
import Foundation
import Wire

/// What a lane writes.
enum ConversationWrite: Sendable {
    case message(MessageWrite)
    case mark(MarkWrite)
    case amendment(Amendment)

    var conversation: Conversation.ID {
        switch self {
        case .message(let message): message.conversation.id
        case .mark(let mark): mark.conversation.id
        case .amendment(let amendment): amendment.conversation.id
        }
    }

    /// About how much memory and wire it takes.
    var bytes: Int {
        switch self {
        case .message(let message): 256 + message.textBytes
        case .mark: 256
        case .amendment(let amendment): 256 + amendment.textBytes
        }
    }

    /// What a batch may hold once: a second write of the same waits for the next.
    enum Key: Hashable {
        case draft(MessageWrite.Key)
        case message(Message.ID)
    }

    var key: Key? {
        switch self {
        case .message(let message): .draft(message.key)
        case .mark: nil
        case .amendment(let amendment): .message(amendment.message)
        }
    }
}

/// A message to be written.
struct MessageWrite: Sendable {
    /// What makes two drafts one message.
    struct Key: Hashable {
        let conversation: Conversation.ID
        let sender: User.ID
        let clientMessageID: String
    }

    let conversation: ConversationToken
    let sender: User.ID
    /// The client's, or one of ours, so that a message of unknown outcome can be looked for.
    let clientMessageID: String
    let data: String
    let mime: String
    let encoding: String
    /// Compact JSON.
    let meta: String?
    /// Compact JSON: what the notification is to say.
    let push: String?
    /// The `seq` of the message it answers.
    let replyTo: Int64?

    var key: Key { Key(conversation: conversation.id, sender: sender, clientMessageID: clientMessageID) }

    var textBytes: Int { data.utf8.count + (meta?.utf8.count ?? 0) + (push?.utf8.count ?? 0) }
}

/// A member's mark to be moved on, never back.
struct MarkWrite: Sendable {
    enum Extent: Sendable {
        case upTo(seq: Int64)
        case before(Date)
    }

    let conversation: ConversationToken
    let user: User.ID
    let extent: Extent
}

/// A write, with what became of it.
struct CompletedWrite: Sendable {
    let write: ConversationWrite
    let outcome: WriteOutcome
}

/// What became of a write.
enum WriteOutcome: Sendable {
    case written(WrittenMessage)
    /// It was there already, from an earlier attempt.
    case duplicate(seq: Int64)
    case marked(ReadMark)
    /// The message is as was asked for, by this write or since before it.
    case amended
    case refused(WriteRejection)
    /// There is no such conversation, or the user is no member of it.
    case notMember

    var changesMessages: Bool {
        switch self {
        case .written, .amended: true
        case .duplicate, .marked, .refused, .notMember: false
        }
    }
}

/// What the database gave a new message.
struct WrittenMessage: Sendable {
    let seq: Int64
    let change: Int64
    let senderNumber: Int64
    /// Compact JSON.
    let senderMeta: String?
    let createdAt: Date
    let memberCount: Int
}
