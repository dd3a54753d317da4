import ConversationsAPI

/// What has been shown of a conversation, and what is to be shown next: every message once, in the order of `seq`.
///
/// Messages come in three ways that overlap: as events, as answers to what was said here, and from the record after a
/// connection was lost. What leaves a gap is not shown; the record is asked instead.
struct ChatHistory {
    enum Update: Hashable {
        case added(Message)
        /// Edited, deleted or reacted to.
        case changed(Message)
    }

    /// What can be seen of a message; a change that does not show is no news.
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

    /// Of how many messages it is known what they look like.
    private static let remembered: Int64 = 500

    /// All changes up to here have been heard of.
    private(set) var change: Int64 = 0
    private(set) var hasBegun = false
    /// Whether the record has to be asked.
    private(set) var isBehind = true
    private var seq: Int64 = 0
    private var appearances: [Int64: Int] = [:]
    private var waiting: [Int64: Message] = [:]

    /// Begins with the latest messages, newest first.
    mutating func begin(_ latest: [Message]) -> [Update] {
        hasBegun = true
        waiting = [:]
        seq = (latest.map(\.seq).min() ?? 1) - 1
        change = latest.map(\.change).max() ?? 0
        return latest.reversed().flatMap { take($0) }
    }

    /// A connection was lost, or something was missed.
    mutating func markBehind() { isBehind = true }

    /// The server told of a message, in the order of changes.
    mutating func receive(_ message: Message) -> [Update] {
        guard hasBegun, message.seq <= seq + 1 else {
            isBehind = true
            return []
        }
        let updates = take(message)
        // Behind a gap the record is asked from where it was whole.
        if !isBehind { change = max(change, message.change) }
        return updates
    }

    /// The server has what was said here.
    ///
    /// Its change counts only when it is told, since others before it may not be yet.
    mutating func acknowledge(_ message: Message) -> [Update] {
        guard hasBegun, message.seq <= seq + 1 else {
            isBehind = true
            return []
        }
        return take(message)
    }

    /// A page of the record, from ``change`` on.
    mutating func catchUp(_ missed: Changes.Missed) -> [Update] {
        var updates: [Update] = []
        for message in missed.messages.sorted(by: { $0.seq < $1.seq }) {
            if message.seq > seq + 1 {
                // One that was said before it and changed after it comes with a later page.
                waiting[message.seq] = message
            } else {
                updates += take(message)
            }
        }
        change = max(change, missed.change)
        if !missed.more {
            isBehind = false
            while let message = waiting.values.min(by: { $0.seq < $1.seq }) {
                waiting[message.seq] = nil
                seq = message.seq - 1
                updates += take(message)
            }
        }
        return updates
    }

    /// A message that leaves no gap, and those that waited for it.
    private mutating func take(_ message: Message) -> [Update] {
        let appearance = Appearance(message).hashValue
        guard message.seq > seq else {
            guard let known = appearances[message.seq], known != appearance else { return [] }
            appearances[message.seq] = appearance
            return [.changed(message)]
        }
        seq = message.seq
        appearances[seq] = appearance
        appearances[seq - Self.remembered] = nil
        guard let next = waiting.removeValue(forKey: seq + 1) else { return [.added(message)] }
        return [.added(message)] + take(next)
    }
}
