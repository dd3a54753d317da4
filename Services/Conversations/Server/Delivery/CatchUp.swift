import ConversationsAPI
import Foundation
import NIOCore
import Wire

/// A socket that comes back to a conversation, and what it knows of it by now; used by one task at a time.
final class CatchUp: @unchecked Sendable {
    // Unchecked: `known` goes from the task that attaches to the worker that holds the room, and no two have it at once.

    let connection: Connection
    let conversation: Conversation.ID
    var known: Int64

    init(connection: Connection, conversation: Conversation.ID, known: Int64) {
        self.connection = connection
        self.conversation = conversation
        self.known = known
    }

    /// Of its pages those that are kept for when the room waits.
    static let reservedPages = 3

    /// How much a socket is told that comes back; it reads the rest for itself.
    struct Budget {
        private static let bytes = 2_097_152
        /// Of one conversation; each is a hundred messages at most.
        private static let pages = 10

        private var bytes = Budget.bytes
        private var page = 0
        private var conversation: Conversation.ID?

        /// Whether one page more of a conversation may be told, and so many are left.
        mutating func allows(_ conversation: Conversation.ID, leaving pages: Int = 0) -> Bool {
            if self.conversation != conversation {
                self.conversation = conversation
                page = 0
            }
            return page + pages < Self.pages && bytes > 0
        }

        mutating func spend(_ bytes: Int) {
            take(bytes)
            page += 1
        }

        /// Counts bytes that are no page.
        mutating func take(_ bytes: Int) { self.bytes -= bytes }

        var isLeft: Bool { bytes > 0 }
    }

    static func event(_ missed: Changes.Missed, in conversation: Conversation.ID) throws -> DeliveryEvent {
        DeliveryEvent(name: .sync, json: try json(.missed(missed), in: conversation))
    }

    static func resync(_ conversation: Conversation.ID) -> DeliveryEvent {
        var writer = JSONWriter(capacity: 64)
        writer.raw("{\"chatId\":")
        writer.number(conversation.rawValue)
        writer.raw(",\"resync\":true}")
        return DeliveryEvent(name: .sync, json: writer.buffer)
    }

    /// The answer to `messages/sync`, with the conversation's id.
    static func json(_ changes: Changes, in conversation: Conversation.ID) throws -> ByteBuffer {
        var writer = JSONWriter(capacity: 512)
        writer.raw("{\"chatId\":")
        writer.number(conversation.rawValue)
        switch changes {
        case .resync: writer.raw(",\"resync\":true}")
        case .missed(let missed):
            writer.raw(",\"messages\":[")
            for (index, message) in missed.messages.enumerated() {
                if index > 0 { writer.raw(",") }
                try writer.message(message)
            }
            writer.raw("],")
            if let reads = missed.reads { writer.marks(reads) }
            writer.raw("\"change\":")
            writer.number(missed.change)
            writer.raw(missed.more ? ",\"more\":true}" : ",\"more\":false}")
        }
        return writer.buffer
    }
}

/// The conversations of a user that a client does not know: the ones with the latest activity, which may be new.
struct UnknownConversations {
    /// How many are announced to a client that reconnects.
    static let limit = 100

    private(set) var heads: [ConversationHead] = []
    private(set) var isComplete = true

    /// Adds one; returns those that are certainly not among the latest.
    mutating func add(_ head: ConversationHead) -> [ConversationHead] {
        heads.append(head)
        return heads.count < 2 * Self.limit ? [] : cut()
    }

    /// Keeps the latest, in the order of their activity; returns the others.
    mutating func cut() -> [ConversationHead] {
        heads.sort { one, other in
            let (left, right) = (one.lastAt ?? .distantPast, other.lastAt ?? .distantPast)
            return left == right ? one.conversation > other.conversation : left > right
        }
        let others = Array(heads.dropFirst(Self.limit))
        heads.removeLast(others.count)
        if !others.isEmpty { isComplete = false }
        return others
    }
}

extension JSONWriter {
    fileprivate mutating func marks(_ marks: [Changes.ChangedReadMark]) {
        raw("\"reads\":[")
        for (index, mark) in marks.enumerated() {
            if index > 0 { raw(",") }
            raw("{\"userId\":")
            string(mark.userId)
            raw(",\"seq\":")
            number(mark.seq)
            raw(",\"change\":")
            number(mark.change)
            raw("}")
        }
        raw("],")
    }
}
