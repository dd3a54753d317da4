import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// The backlogs of some conversations.
struct RoomBacklogs: Sendable {
    var backlog: [Conversation.ID: RoomBacklog] = [:]
    /// Events that users who join by these changes receive first.
    var announcements: [Conversation.ID: Announcements] = [:]
    /// Conversations whose backlog cannot be read.
    var failures: [Conversation.ID: any Error] = [:]
    /// Messages that cannot be read, which are left out of the backlog.
    var unreadable: [FailedRow] = []
}

extension SetAsideKind {
    /// A message that cannot be read, and so is not sent to connected members.
    static let message = SetAsideKind(
        "message",
        table: "messages",
        key: ["conversation_id": "bigint", "seq": "bigint"],
        dropping: .keep,
        hidden: ["data", "meta", "push"],
        maximumAttempts: 1
    )
}

/// The reads of delivery, on a dedicated connection: they neither delay other statements nor wait for them.
struct RoomBacklogStore: Sendable {
    /// The maximum number of messages and bytes that are read of one conversation at once.
    static let messages = 100
    private static let bytes = 262_144

    private let dedicatedConnection: DedicatedConnection

    init(database: PostgresPool) {
        dedicatedConnection = database.dedicatedConnection(
            statementTimeout: .seconds(5),
            settings: BatchWriter.settings.merging(["default_transaction_read_only": "on"]) { $1 }
        )
    }

    /// Returns the backlog of each conversation behind a change, in one snapshot; deleted conversations are left out.
    ///
    /// Every change up to the head's is visible, because each was made under the head's lock.
    func backlog(_ input: [(conversation: Conversation.ID, after: Int64)]) async throws -> RoomBacklogs {
        let rows = try await dedicatedConnection.segment([
            """
            SELECT \(unsafe: MessageRow.names("found")), input.conversation_id, heads.last_change,
                   found.total, \(unsafe: ReadMarks.columns)
            FROM unnest(\(input.map(\.conversation.rawValue)), \(input.map(\.after))) AS input (conversation_id, change)
            JOIN heads ON heads.conversation_id = input.conversation_id
            JOIN conversations ON conversations.conversation_id = input.conversation_id
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.names("counted")), counted.n, counted.total
                FROM (
                    SELECT \(unsafe: MessageRow.names("sized")), sized.n, sized.size, count(*) OVER () AS total
                    FROM (
                        SELECT \(unsafe: MessageRow.columns("messages")), row_number() OVER by_change AS n,
                               sum(octet_length(messages.data)) OVER by_change - octet_length(messages.data) AS size
                        FROM messages
                        WHERE messages.conversation_id = input.conversation_id AND messages.change > input.change
                        WINDOW by_change AS (ORDER BY messages.change)
                        ORDER BY messages.change LIMIT \(Self.messages + 1)
                    ) AS sized
                ) AS counted
                WHERE counted.size < \(Self.bytes) AND counted.n <= \(Self.messages)
            ) AS found ON TRUE
            LEFT JOIN LATERAL (
                SELECT array_agg(user_id ORDER BY joined_seq) AS users, array_agg(read_seq ORDER BY joined_seq) AS seqs,
                       array_agg(read_change ORDER BY joined_seq) AS changes
                FROM members
                WHERE members.conversation_id = input.conversation_id AND coalesce(found.n, 1) = 1
                    AND conversations.member_count <= \(ConversationStore<PostgresPool>.readsLimit)
            ) AS member_list ON TRUE
            ORDER BY input.conversation_id, found.n
            """
        ])[0]
        let after = Dictionary(input.map { ($0.conversation, $0.after) }) { $1 }
        var read: [Conversation.ID: [PostgresRow]] = [:]
        for row in rows { read[try row.decode("conversation_id"), default: []].append(row) }
        var found = RoomBacklogs()
        for (conversation, rows) in read {
            do {
                let (backlog, unreadable) = try RoomBacklog.read(
                    rows,
                    of: conversation,
                    after: after[conversation] ?? 0
                )
                found.backlog[conversation] = backlog
                found.unreadable += unreadable
            } catch {
                found.failures[conversation] = error
            }
        }
        return found
    }

    /// Returns messages in their current state, with the read marks of a moment before.
    func messages(
        _ seqs: [Int64],
        in conversation: Conversation.ID,
        _ marks: ReadMarks
    ) async throws -> (values: [RoomBacklog.Entry], unreadable: [FailedRow]) {
        try await dedicatedConnection.segment([
            """
            SELECT \(unsafe: MessageRow.columns("messages")) FROM messages
            WHERE messages.conversation_id = \(conversation) AND messages.seq = ANY (\(seqs))
            """
        ])[0].decoded(in: conversation, marks)
    }
}

extension RoomBacklog {
    /// Reads the backlog from the rows of one conversation, and the messages among them that cannot be read.
    fileprivate static func read(
        _ rows: [PostgresRow],
        of conversation: Conversation.ID,
        after change: Int64
    ) throws -> (RoomBacklog, unreadable: [FailedRow]) {
        let lastChange: Int64 = try rows[0].decode("last_change")
        let total: Int64 = try rows[0].decodeIfPresent("total") ?? 0
        let marks = try ReadMarks(row: rows[0])
        // Changes of unreadable rows count too, so that reading continues behind them.
        let changes = try rows.compactMap { try $0.decodeIfPresent(at: 1, as: Int64.self) }
        let hasMore = total > changes.count
        let decoded = try rows.decoded(in: conversation, marks)
        let backlog = RoomBacklog(
            messages: decoded.values,
            marks: marks,
            after: change,
            change: hasMore ? changes.last ?? lastChange : lastChange,
            hasMore: hasMore
        )
        return (backlog, decoded.unreadable)
    }
}

extension Sequence where Element == PostgresRow {
    /// Decodes the messages of a conversation; rows of an outer join without a message are left out.
    fileprivate func decoded(
        in conversation: Conversation.ID,
        _ marks: ReadMarks
    ) throws -> (values: [RoomBacklog.Entry], unreadable: [FailedRow]) {
        let key = { (row: PostgresRow) in ["\(conversation.rawValue)", "\(try row.decode(at: 0, as: Int64.self))"] }
        let read = try decoded(key: key) { row in
            try MessageRow(row).map { message in
                RoomBacklog.Entry(
                    message: message.message(in: conversation, readers: marks.readers(of:)),
                    clientMessageID: message.clientMessageID
                )
            }
        }
        return (read.values.compactMap(\.self), read.unreadable)
    }
}
