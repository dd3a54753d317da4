/// The changes in a conversation after a change number that the client has.
package enum Changes: Hashable, Sendable {
    case missed(Missed)
    /// The change number does not belong to this history; the client must read the conversation again.
    case resync

    package struct Missed: Hashable, Sendable, Codable {
        /// New and changed messages in their current state, ordered by `change`.
        package var messages: [Message]
        /// Read marks that moved; absent when the conversation has more than 100 members.
        package var reads: [ChangedReadMark]?
        /// All changes up to this number are included; the next request starts after it.
        package var change: Int64
        package var more: Bool

        package init(messages: [Message], reads: [ChangedReadMark]?, change: Int64, more: Bool) {
            self.messages = messages
            self.reads = reads
            self.change = change
            self.more = more
        }
    }

    /// A member's read mark that moved.
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
