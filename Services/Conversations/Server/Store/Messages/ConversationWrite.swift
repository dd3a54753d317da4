import ConversationsAPI
import Foundation
import Wire

/// A write for a write shard.
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

    /// The approximate size in memory and on the wire.
    var bytes: Int {
        switch self {
        case .message(let message): 256 + message.textBytes
        case .mark: 256
        case .amendment(let amendment): 256 + amendment.textBytes
        }
    }

    /// A key that a batch may contain once; a second write with the same key waits for the next batch.
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
    /// Identifies drafts that are the same message.
    struct Key: Hashable {
        let conversation: Conversation.ID
        let sender: User.ID
        let clientMessageID: String
    }

    let conversation: ConversationToken
    let sender: User.ID
    /// The client's id or a generated one, by which a message with an unknown outcome is found.
    let clientMessageID: String
    let data: String
    let mime: String
    let encoding: String
    /// Compact JSON.
    let meta: String?
    /// Compact JSON: the sender's options for the notification.
    let push: String?
    /// The `seq` of the message that this one replies to.
    let replyTo: Int64?

    var key: Key { Key(conversation: conversation.id, sender: sender, clientMessageID: clientMessageID) }

    var textBytes: Int { data.utf8.count + (meta?.utf8.count ?? 0) + (push?.utf8.count ?? 0) }
}

/// A request to move a member's mark forward; a mark never moves back.
struct MarkWrite: Sendable {
    enum Extent: Sendable {
        case upTo(seq: Int64)
        case before(Date)
    }

    let conversation: ConversationToken
    let user: User.ID
    let extent: Extent
}

/// A write with its outcome.
struct CompletedWrite: Sendable {
    let write: ConversationWrite
    let outcome: WriteOutcome
}

/// The outcome of a write.
enum WriteOutcome: Sendable {
    case written(WrittenMessage)
    /// An earlier attempt has already written the message.
    case duplicate(seq: Int64)
    case marked(ReadMark)
    /// The message is in the requested state, by this write or since before it.
    case amended
    case refused(WriteRejection)
    /// The conversation does not exist, or the user is not a member of it.
    case notMember

    var changesMessages: Bool {
        switch self {
        case .written, .amended: true
        case .duplicate, .marked, .refused, .notMember: false
        }
    }
}

/// The values that the database assigned to a new message.
struct WrittenMessage: Sendable {
    let seq: Int64
    let change: Int64
    let senderNumber: Int64
    /// Compact JSON.
    let senderMeta: String?
    let createdAt: Date
    let memberCount: Int
}
