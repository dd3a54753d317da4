import ConversationsAPI
import Wire

/// What a conversation has that a room has not told yet, as it was read in one moment.
struct RoomBacklog: Sendable {
    /// A message as it is now, with the id that its draft came with, be it the client's or ours.
    struct Entry: Sendable {
        var message: Message
        let clientMessageID: String?
    }

    /// New and changed messages, by `change`.
    var messages: [Entry]
    /// How far everybody has read; nothing where there are too many members for it to be told.
    let marks: ReadMarks
    /// What was known before.
    let after: Int64
    /// All up to here is told with these.
    var change: Int64
    var hasMore: Bool
}

/// Something to be told, in the place that its change has among all changes of the conversation.
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
    /// What is to be told to whom has heard everything up to `seq`, by change; and new messages by `seq` as well.
    ///
    /// A message that was edited or reacted to before it was told has its newest change's number, behind messages that
    /// were said after it. It is told in its own place, with a number from before theirs, and then as changed: so who
    /// remembers the highest number he was told has missed nothing before it.
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
            // Behind the last that was read it comes again.
            if bound < change, change <= self.change {
                events.append(RoomEvent(change: change, content: .updated(entry.message)))
            }
        }
        // Who sends a message has read it: that is not told twice.
        for mark in marks.moved(after: after, upTo: self.change) ?? []
        where senders[mark.seq].map({ !$0.isExactly(mark.userId) }) ?? true {
            events.append(RoomEvent(change: mark.change, content: .read(mark)))
        }
        return events.sorted { $0.change < $1.change }
    }

    /// The messages that are missing between those told and the last of these, by `seq`.
    ///
    /// Where there is more to read, an earlier message may be there still, since it was changed after a later one.
    func missing(after seq: Int64) -> [Int64] {
        guard hasMore, let last = messages.map(\.message.seq).max(), last > seq else { return [] }
        let there = Set(messages.map(\.message.seq))
        return (seq + 1..<last).filter { !there.contains($0) }
    }
}
