import ConversationsAPI
import Postgres
import Wire

/// What instances read to tell it to those connected, on a connection of its own: nothing waits behind it, nor it behind
/// anything.
struct DeliveryStore: Sendable {
    /// How much is read of one conversation at once.
    static let messages = 100
    private static let bytes = 262_144

    private let lane: PostgresLane

    init(database: PostgresPool) {
        lane = database.lane(
            statementTimeout: .seconds(5),
            settings: SendSegment.settings.merging(["default_transaction_read_only": "on"]) { $1 }
        )
    }

    /// What each of these conversations has behind a change, in one moment; those that are gone are left out.
    ///
    /// Every change up to a head's is there to be seen, since each was made under the head's lock.
    func news(_ asked: [(conversation: Conversation.ID, after: Int64)]) async throws -> [Conversation.ID: RoomNews] {
        let rows = try await lane.segment([
            """
            SELECT \(unsafe: MessageRow.names("found")), asked.conversation_id, heads.last_change,
                   found.total, \(unsafe: Marks.columns)
            FROM unnest(\(asked.map(\.conversation.rawValue)), \(asked.map(\.after))) AS asked (conversation_id, change)
            JOIN heads ON heads.conversation_id = asked.conversation_id
            JOIN conversations ON conversations.conversation_id = asked.conversation_id
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.names("counted")), counted.n, counted.total
                FROM (
                    SELECT \(unsafe: MessageRow.names("met")), met.n, met.size, count(*) OVER () AS total
                    FROM (
                        SELECT \(unsafe: MessageRow.columns("messages")), row_number() OVER by_change AS n,
                               sum(octet_length(messages.data)) OVER by_change - octet_length(messages.data) AS size
                        FROM messages
                        WHERE messages.conversation_id = asked.conversation_id AND messages.change > asked.change
                        WINDOW by_change AS (ORDER BY messages.change)
                        ORDER BY messages.change LIMIT \(Self.messages + 1)
                    ) AS met
                ) AS counted
                WHERE counted.size < \(Self.bytes) AND counted.n <= \(Self.messages)
            ) AS found ON TRUE
            LEFT JOIN LATERAL (
                SELECT array_agg(user_id ORDER BY place) AS users, array_agg(read_seq ORDER BY place) AS seqs,
                       array_agg(read_change ORDER BY place) AS changes
                FROM members
                WHERE members.conversation_id = asked.conversation_id AND coalesce(found.n, 1) = 1
                    AND conversations.member_count <= \(ConversationStore<PostgresPool>.readsLimit)
            ) AS everybody ON TRUE
            ORDER BY asked.conversation_id, found.n
            """
        ])[0]
        let after = Dictionary(asked.map { ($0.conversation, $0.after) }) { $1 }
        var read: [Conversation.ID: [PostgresRow]] = [:]
        for row in rows { read[try row.decode("conversation_id"), default: []].append(row) }
        return try read.reduce(into: [:]) { news, read in
            news[read.key] = try RoomNews(of: read.key, read.value, after: after[read.key] ?? 0)
        }
    }

    /// Some messages as they are now, with the marks of a moment before.
    func messages(
        _ seqs: [Int64],
        in conversation: Conversation.ID,
        _ marks: Marks
    ) async throws -> [RoomNews.Entry] {
        try await lane.segment([
            """
            SELECT \(unsafe: MessageRow.columns("messages")) FROM messages
            WHERE messages.conversation_id = \(conversation) AND messages.seq = ANY (\(seqs))
            """
        ])[0].compactMap { try MessageRow($0).map { try RoomNews.Entry($0, in: conversation, marks) } }
    }
}

extension RoomNews {
    fileprivate init(of conversation: Conversation.ID, _ rows: [PostgresRow], after change: Int64) throws {
        let lastChange: Int64 = try rows[0].decode("last_change")
        let total: Int64 = try rows[0].decodeIfPresent("total") ?? 0
        let marks = try Marks(row: rows[0])
        let found = try rows.compactMap(MessageRow.init)
        let hasMore = total > found.count
        let upTo = hasMore ? found.last?.change ?? lastChange : lastChange
        self.init(
            messages: try found.map { try Entry($0, in: conversation, marks) },
            marks: marks,
            after: change,
            change: upTo,
            hasMore: hasMore
        )
    }
}

extension RoomNews.Entry {
    fileprivate init(_ row: MessageRow, in conversation: Conversation.ID, _ marks: Marks) throws {
        self.init(
            message: try row.message(in: conversation, readers: marks.readers(of:)),
            clientMessageID: row.clientMessageID
        )
    }
}
