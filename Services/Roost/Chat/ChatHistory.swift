import ConversationsAPI

/// The displayed part of a conversation: every message once, in the order of `seq`.
///
/// Messages arrive in three ways that overlap: as events, as responses to sent messages, and from the history after a
/// lost connection. A message that would leave a gap is not displayed; the history is read instead.
struct ChatHistory {
    enum Update: Hashable {
        case added(Message)
        case changed(Message)
    }

    /// The visible parts of a message; other changes are not displayed.
    private struct Appearance: Hashable {
        let data: String
        let isDeleted: Bool
        let reactions: [String: Int]

        init(_ message: Message) {
            data = message.encoding == "url" ? message.file?.name ?? "" : message.data
            isDeleted = message.deletedAt != nil
            reactions = message.reactions.mapValues(\.count)
        }
    }

    /// The number of recent messages whose appearance is remembered.
    private static let remembered: Int64 = 500

    /// The change number up to which all changes have been received.
    private(set) var change: Int64 = 0
    private(set) var hasBegun = false
    /// Whether messages must be read from the history.
    private(set) var isBehind = true
    private var seq: Int64 = 0
    private var appearances: [Int64: Int] = [:]
    private var waiting: [Int64: Message] = [:]

    /// Starts with the latest messages, newest first.
    mutating func begin(_ latest: [Message]) -> [Update] {
        hasBegun = true
        waiting = [:]
        seq = (latest.map(\.seq).min() ?? 1) - 1
        change = latest.map(\.change).max() ?? 0
        return latest.reversed().flatMap { apply($0) }
    }

    /// Notes that events may have been missed, for example after a lost connection.
    mutating func markBehind() { isBehind = true }

    /// Applies a message event; events arrive in the order of changes.
    mutating func receive(_ message: Message) -> [Update] {
        guard hasBegun, message.seq <= seq + 1 else {
            isBehind = true
            return []
        }
        let updates = apply(message)
        // After a gap, reading continues from the last complete change.
        if !isBehind { change = max(change, message.change) }
        return updates
    }

    /// Applies the response to a sent message.
    ///
    /// Its change number counts only when its event arrives, because events of earlier changes may be missing until
    /// then.
    mutating func acknowledge(_ message: Message) -> [Update] {
        guard hasBegun, message.seq <= seq + 1 else {
            isBehind = true
            return []
        }
        return apply(message)
    }

    /// Applies a page of the history after ``change``.
    mutating func catchUp(_ missed: Changes.Missed) -> [Update] {
        var updates: [Update] = []
        for message in missed.messages.sorted(by: { $0.seq < $1.seq }) {
            if message.seq > seq + 1 {
                // A message that was sent before this one and changed after it comes with a later page.
                waiting[message.seq] = message
            } else {
                updates += apply(message)
            }
        }
        change = max(change, missed.change)
        if !missed.more {
            isBehind = false
            while let message = waiting.values.min(by: { $0.seq < $1.seq }) {
                waiting[message.seq] = nil
                seq = message.seq - 1
                updates += apply(message)
            }
        }
        return updates
    }

    /// Applies a message that leaves no gap, and the messages that waited for it.
    private mutating func apply(_ message: Message) -> [Update] {
        let appearance = Appearance(message).hashValue
        guard message.seq > seq else {
            guard let previous = appearances[message.seq], previous != appearance else { return [] }
            appearances[message.seq] = appearance
            return [.changed(message)]
        }
        seq = message.seq
        appearances[seq] = appearance
        appearances[seq - Self.remembered] = nil
        guard let next = waiting.removeValue(forKey: seq + 1) else { return [.added(message)] }
        return [.added(message)] + apply(next)
    }
}
