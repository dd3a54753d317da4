import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `messages`, as members read it.
struct MessageStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Messages of a conversation, newest first; nil where the user sees no such conversation.
    ///
    /// `seq` has no gaps, so the place of a page is arithmetic, and any page costs as much as the first.
    func history(_ token: ConversationToken, for user: User.ID, _ span: HistorySpan) async throws -> [Message]? {
        let rows = try await db.execute(
            """
            WITH scope AS MATERIALIZED (
                SELECT heads.last_seq, conversations.member_count
                \(unsafe: Self.seen) \(token.id) AND conversations.secret = \(token.secret)
                    AND members.user_id = \(user.user) AND members.application_id = \(user.application)
            ), span AS MATERIALIZED (
                SELECT member_count, CASE
                    WHEN \(span.afterSeq) IS NOT NULL THEN \(span.afterSeq) + \(span.count)
                    WHEN \(span.beforeSeq) IS NOT NULL THEN least(\(span.beforeSeq) - 1, last_seq)
                    WHEN \(span.before) IS NULL THEN last_seq - \(span.skipped)
                    ELSE coalesce((
                        SELECT messages.seq FROM messages
                        WHERE messages.conversation_id = \(token.id) AND messages.created_at < \(span.before)
                        ORDER BY messages.created_at DESC, messages.seq DESC LIMIT 1
                    ), 0) - \(span.skipped)
                END AS high
                FROM scope
            ), \(unsafe: Self.memberList) \(token.id)
            )
            SELECT \(unsafe: MessageRow.names("found")), \(unsafe: ReadMarks.columns)
            FROM span
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.columns("messages")),
                       row_number() OVER (ORDER BY messages.seq DESC) AS n
                FROM messages
                WHERE messages.conversation_id = \(token.id)
                    AND messages.seq > span.high - \(span.count) AND messages.seq <= span.high
            ) AS found ON true
            LEFT JOIN member_list ON found.n = 1
            ORDER BY found.n
            """
        )
        guard let first = rows.first else { return nil }
        let marks = try ReadMarks(row: first)
        return try rows.compactMap { try MessageRow($0)?.message(in: token.id, readers: marks.readers(of:)) }
    }

    /// Whether the user sees the conversation, and if so whether it has come to this message; nil where he does not.
    ///
    /// Messages never go but with their conversation, so what is there stays true.
    func has(_ seq: Int64, in token: ConversationToken, for user: User.ID) async throws -> Bool? {
        try await db.first(
            """
            SELECT \(seq) <= heads.last_seq AS has
            \(unsafe: Self.seen) \(token.id) AND conversations.secret = \(token.secret)
                AND members.user_id = \(user.user) AND members.application_id = \(user.application)
            """,
            as: { try $0.bool("has") }
        )
    }

    /// What has changed since `change`, and how far the conversation has come; nil where the user sees no such one.
    ///
    /// One statement, and so one moment: every change up to the head's is there to be seen, since each was made under
    /// the head's lock. Who names no secret knows the conversation by its id, as a member may.
    func changes(
        _ conversation: Conversation.ID,
        secret: String? = nil,
        for user: User.ID,
        after change: Int64,
        limit: Int
    ) async throws -> (changes: Changes, head: ConversationHead)? {
        let found = try await messageRange(
            of: conversation,
            secret: secret,
            for: user,
            by: .change,
            after: change,
            limit: limit
        )
        guard let found else { return nil }
        let head = ConversationHead(conversation: conversation, change: found.lastChange, seq: found.lastSeq)
        guard change <= found.lastChange else { return (.resync, head) }
        let upTo = found.hasMore ? found.rows.last?.change ?? found.lastChange : found.lastChange
        let missed = Changes.Missed(
            messages: try found.messages(of: conversation),
            reads: found.marks.moved(after: change, upTo: upTo),
            change: upTo,
            more: found.hasMore
        )
        return (.missed(missed), head)
    }

    /// The messages behind a `seq`, oldest first; nil where the user sees no such conversation.
    ///
    /// What they answer as `change` has nothing new before it but what they hold: the head's, once they are all there is;
    /// before that the last one's `seq`, since a message's change is never below it.
    func messages(
        _ conversation: Conversation.ID,
        for user: User.ID,
        afterSeq seq: Int64,
        limit: Int
    ) async throws -> Changes? {
        let found = try await messageRange(of: conversation, secret: nil, for: user, by: .seq, after: seq, limit: limit)
        guard let found else { return nil }
        guard seq <= found.lastSeq else { return .resync }
        return .missed(
            Changes.Missed(
                messages: try found.messages(of: conversation),
                reads: nil,
                change: found.hasMore ? found.rows.last?.seq ?? seq : found.lastChange,
                more: found.hasMore
            )
        )
    }

    /// What comes behind a place, in its order, and how far the conversation has come; nil where the user sees no such one.
    private func messageRange(
        of conversation: Conversation.ID,
        secret: String?,
        for user: User.ID,
        by order: MessageRange.Order,
        after start: Int64,
        limit: Int
    ) async throws -> MessageRange? {
        let rows = try await db.execute(
            """
            WITH scope AS MATERIALIZED (
                SELECT heads.last_change, heads.last_seq, conversations.member_count
                \(unsafe: Self.seen) \(conversation)
                    AND (\(secret) IS NULL OR conversations.secret = \(secret))
                    AND members.user_id = \(user.user) AND members.application_id = \(user.application)
            ), \(unsafe: Self.memberList) \(conversation)
            )
            SELECT \(unsafe: MessageRow.names("found")), \(unsafe: ReadMarks.columns), scope.last_change, scope.last_seq
            FROM scope
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.columns("messages")),
                       row_number() OVER (ORDER BY \(unsafe: order.rawValue)) AS n
                FROM messages
                WHERE messages.conversation_id = \(conversation) AND \(unsafe: order.rawValue) > \(start)
                ORDER BY \(unsafe: order.rawValue) LIMIT \(limit + 1)
            ) AS found ON true
            LEFT JOIN member_list ON coalesce(found.n, 1) = 1
            ORDER BY found.n
            """
        )
        return try rows.first.map { try MessageRange(rows, head: $0, limit: limit) }
    }

    /// The conversation by its token, as a member of it; the id follows.
    private static var seen: String {
        """
        FROM conversations
        JOIN heads ON heads.conversation_id = conversations.conversation_id
        JOIN members ON members.conversation_id = conversations.conversation_id
        WHERE conversations.conversation_id =
        """
    }

    /// Everybody's mark, of which only the first row is given a copy; the id follows.
    ///
    /// Where there are too many members, they are not even read.
    private static var memberList: String {
        """
        member_list AS MATERIALIZED (
            SELECT array_agg(user_id ORDER BY joined_seq) AS users, array_agg(read_seq ORDER BY joined_seq) AS seqs,
                   array_agg(read_change ORDER BY joined_seq) AS changes
            FROM members
            WHERE (SELECT member_count FROM scope) <= \(ConversationStore<Executor>.readsLimit) AND conversation_id =
        """
    }
}

/// Messages behind a place in a conversation, as many as were asked for, and how far it has come.
private struct MessageRange {
    /// What messages are counted by.
    enum Order: String {
        case change = "messages.change"
        case seq = "messages.seq"
    }

    let rows: ArraySlice<MessageRow>
    let hasMore: Bool
    let marks: ReadMarks
    let lastChange: Int64
    let lastSeq: Int64

    /// `found` has one more than `limit` where there are more, and a row without a message where there is none.
    init(_ found: PostgresResult, head: PostgresRow, limit: Int) throws {
        let messages = try found.compactMap(MessageRow.init)
        rows = messages.prefix(limit)
        hasMore = messages.count > limit
        marks = try ReadMarks(row: head)
        lastChange = try head.decode("last_change")
        lastSeq = try head.decode("last_seq")
    }

    func messages(of conversation: Conversation.ID) throws -> [Message] {
        rows.map { $0.message(in: conversation, readers: marks.readers(of:)) }
    }
}

/// Which part of a history is asked for.
struct HistorySpan: Sendable {
    var count = 20
    var before: Date?
    var page = 0
    var beforeSeq: Int64?
    var afterSeq: Int64?

    var skipped: Int { page * count }
}
