/// What has happened in a conversation since a change one knows.
package enum Changes: Hashable, Sendable {
    case missed(Missed)
    /// What one knows is not of this history: read it anew.
    case resync

    package struct Missed: Hashable, Sendable, Codable {
        /// New and changed messages as they are now, by `change`.
        package var messages: [Message]
        /// Whose mark moved, and how far; left out where the conversation has more than 100 members.
        package var reads: [ChangedReadMark]?
        /// All up to here has been told: ask with it next time.
        package var change: Int64
        package var more: Bool

        package init(messages: [Message], reads: [ChangedReadMark]?, change: Int64, more: Bool) {
            self.messages = messages
            self.reads = reads
            self.change = change
            self.more = more
        }
    }

    /// A member's mark that moved.
    package struct ChangedReadMark: Hashable, Sendable, Codable {
        package var userId: String
        package var seq: Int64
        package var change: Int64

        package init(userId: String, seq: Int64, change: Int64) {
            self.userId = userId
            self.seq = seq
            self.change = change
        }
    }
}

extension Changes: Codable {
    private enum CodingKeys: CodingKey { case resync }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self = container.contains(.resync) ? .resync : .missed(try Missed(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .missed(let missed):
            try missed.encode(to: encoder)
        case .resync:
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(true, forKey: .resync)
        }
    }
}
