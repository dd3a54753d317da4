import ConversationsAPI
import Foundation
import NIOCore
import Wire

/// The catch-up of a reconnected socket in one conversation; used by one task at a time.
final class CatchUp: @unchecked Sendable {
    // Unchecked: `lastChange` passes from the task that attaches to the worker that holds the room, never to both at
    // once.

    let connection: Connection
    let conversation: Conversation.ID
    var lastChange: Int64

    init(connection: Connection, conversation: Conversation.ID, lastChange: Int64) {
        self.connection = connection
        self.conversation = conversation
        self.lastChange = lastChange
    }

    /// The number of pages reserved for the time when the room waits.
    static let reservedPages = 3

    /// The limits of what a reconnected socket receives; its client reads the rest itself.
    struct Budget {
        private static let bytes = 2_097_152
        /// The maximum number of pages of one conversation; each has at most 100 messages.
        private static let pages = 10

        private var bytes = Budget.bytes
        private var page = 0
        private var conversation: Conversation.ID?

        /// Returns whether one more page of a conversation may be sent while `pages` further pages remain.
        mutating func allows(_ conversation: Conversation.ID, leaving pages: Int = 0) -> Bool {
            if self.conversation != conversation {
                self.conversation = conversation
                page = 0
            }
            return page + pages < Self.pages && bytes > 0
        }

        mutating func spend(_ bytes: Int) {
            charge(bytes)
            page += 1
        }

        /// Counts bytes that are not a page.
        mutating func charge(_ bytes: Int) { self.bytes -= bytes }

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

    /// Returns the response to `messages/sync`, with the conversation's id.
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

/// The conversations of a user that the client does not have: those with the latest activity, which may be new.
struct UnknownConversations {
    /// The maximum number of conversations announced to a client that reconnects.
    static let limit = 100

    private(set) var heads: [ConversationHead] = []
    private(set) var isComplete = true

    /// Adds a head; returns heads that are certainly not among the latest.
    mutating func add(_ head: ConversationHead) -> [ConversationHead] {
        heads.append(head)
        return heads.count < 2 * Self.limit ? [] : cut()
    }

    /// Keeps the latest heads, ordered by activity; returns the others.
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
