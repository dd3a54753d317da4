/// A user's read position in a conversation.
package struct ReadMark: Codable, Hashable, Sendable {
    /// The highest `seq` read; 0 when the user has read nothing.
    package var seq: Int64
    package var unreadCount: Int
    /// The change number of the mark's latest move.
    package var change: Int64

    package init(seq: Int64, unreadCount: Int, change: Int64) {
        self.seq = seq
        self.unreadCount = unreadCount
        self.change = change
    }
}

/// A message that was marked as read, with the reader's read mark.
///
/// In JSON the keys `seq` and `change` hold the mark's values. The message's own values are in `messageSeq` and
/// `messageChange`.
package struct ReadMessage: Hashable, Sendable {
    package var message: Message
    package var mark: ReadMark

    package init(_ message: Message, _ mark: ReadMark) {
        self.message = message
        self.mark = mark
    }
}

extension ReadMessage: Codable {
    private enum CodingKeys: CodingKey { case unreadCount, messageSeq, messageChange }

    package init(from decoder: any Decoder) throws {
        mark = try ReadMark(from: decoder)
        message = try Message(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        message.seq = try container.decode(Int64.self, forKey: .messageSeq)
        message.change = try container.decode(Int64.self, forKey: .messageChange)
    }

    package func encode(to encoder: any Encoder) throws {
        var shown = message
        (shown.seq, shown.change) = (mark.seq, mark.change)
        try shown.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(mark.unreadCount, forKey: .unreadCount)
        try container.encode(message.seq, forKey: .messageSeq)
        try container.encode(message.change, forKey: .messageChange)
    }
}

/// The body of `POST …/read`, which marks all messages before a time as read.
package struct ReadBefore: Codable, Sendable {
    package var before: Moment

    package init(before: Moment) { self.before = before }
}
