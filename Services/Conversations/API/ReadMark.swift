/// How far somebody has read in a conversation.
package struct ReadMark: Codable, Hashable, Sendable {
    /// The highest `seq` read; 0 is none.
    package var seq: Int64
    package var unreadCount: Int
    /// The number of the change in which the mark last moved.
    package var change: Int64

    package init(seq: Int64, unreadCount: Int, change: Int64) {
        self.seq = seq
        self.unreadCount = unreadCount
        self.change = change
    }
}

/// `POST …/read`: everything older is read.
package struct ReadBefore: Codable, Sendable {
    package var before: Moment

    package init(before: Moment) { self.before = before }
}
