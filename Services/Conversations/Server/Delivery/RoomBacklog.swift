import ConversationsAPI
import Wire

/// The changes of a conversation that a room has not delivered yet, read in one snapshot.
struct RoomBacklog: Sendable {
    /// A message in its current state, with the id of its draft, from the client or generated.
    struct Entry: Sendable {
        var message: Message
        let clientMessageID: String?
    }

    /// New and changed messages, ordered by `change`.
    var messages: [Entry]
    /// The read marks of all members; empty when there are too many members to show them.
    let marks: ReadMarks
    /// The change after which the backlog begins.
    let after: Int64
    /// All changes up to this number are in the backlog.
    var change: Int64
    var hasMore: Bool
}

/// An event of a conversation, with its position among all changes.
struct RoomEvent: Sendable {
    enum Content: Sendable {
        case message(RoomBacklog.Entry)
        case updated(Message)
        case read(Changes.ChangedReadMark)
    }

    let change: Int64
    let content: Content
}

extension RoomBacklog {
    /// Returns the events for subscribers that have everything up to `seq`, ordered by change; new messages also by
    /// `seq`.
    ///
    /// A message that was edited or reacted to before its delivery has the number of its newest change, behind later
    /// messages. It is delivered at its own position, with a number below theirs, and then again as updated. So a
    /// client that stores the highest number it received has missed nothing before that number.
    func events(after seq: Int64) -> [RoomEvent] {
        var events: [RoomEvent] = []
        var senders: [Int64: String] = [:]
        var bound = Int64.max
        for entry in messages.sorted(by: { $0.message.seq > $1.message.seq }) {
            let change = entry.message.change
            guard entry.message.seq > seq else {
                events.append(RoomEvent(change: change, content: .updated(entry.message)))
                continue
            }
            senders[entry.message.seq] = entry.message.senderUser?.serial
            var delivered = entry
            delivered.message.change = min(change, bound - 1)
            bound = delivered.message.change
            events.append(RoomEvent(change: bound, content: .message(delivered)))
            // An update behind the last change read is delivered by a later read.
            if bound < change, change <= self.change {
                events.append(RoomEvent(change: change, content: .updated(entry.message)))
            }
        }
        // A sender has read the message, so the mark is not delivered separately.
        for mark in marks.moved(after: after, upTo: self.change) ?? []
        where senders[mark.seq].map({ !$0.isExactly(mark.userId) }) ?? true {
            events.append(RoomEvent(change: mark.change, content: .read(mark)))
        }
        return events.sorted { $0.change < $1.change }
    }

    /// Returns the `seq` of messages that are missing between the delivered ones and the last of these.
    ///
    /// While more is to be read, an earlier message may be missing because it was changed after a later one.
    func missing(after seq: Int64) -> [Int64] {
        guard hasMore, let last = messages.map(\.message.seq).max(), last > seq else { return [] }
        let there = Set(messages.map(\.message.seq))
        return (seq + 1..<last).filter { !there.contains($0) }
    }
}
