import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `messages`, as members read it.
struct MessageStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns messages of a conversation, newest first; nil when the user cannot see the conversation.
    ///
    /// `seq` has no gaps, so the range of a page is arithmetic, and any page costs as much as the first.
    func history(_ token: ConversationToken, for user: User.ID, _ span: HistorySpan) async throws -> [Message]? {
        let rows = try await db.execute(
            """
            WITH scope AS MATERIALIZED (
                SELECT heads.last_seq, conversations.member_count
                \(unsafe: Self.membershipJoin) \(token.id) AND conversations.secret = \(token.secret)
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

    /// Returns whether a conversation has a message with this `seq`; nil when the user cannot see the conversation.
    ///
    /// Messages are deleted only with their conversation, so the result stays valid.
    func has(_ seq: Int64, in token: ConversationToken, for user: User.ID) async throws -> Bool? {
        try await db.first(
            """
            SELECT \(seq) <= heads.last_seq AS has
            \(unsafe: Self.membershipJoin) \(token.id) AND conversations.secret = \(token.secret)
                AND members.user_id = \(user.user) AND members.application_id = \(user.application)
            """,
            as: { try $0.bool("has") }
        )
    }

    /// Returns the changes after `change` and the head at that time; nil when the user cannot see the conversation.
    ///
    /// One statement uses one snapshot: every change up to the head's is visible, because each was made under the
    /// head's lock. Without `secret`, the conversation is found by its id, which suffices for a member.
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

    /// Returns the messages behind a `seq`, oldest first; nil when the user cannot see the conversation.
    ///
    /// No change up to the returned `change` is missing from the messages returned so far. Once all messages are
    /// returned, it is the head's; before that it is the last message's `seq`, because a message's change is never
    /// below its `seq`.
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

    /// Returns the messages behind `start`, in the given order, and the head; nil when the user cannot see the
    /// conversation.
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
                \(unsafe: Self.membershipJoin) \(conversation)
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

    /// Joins a conversation with its head and its members; the conversation's id follows.
    private static var membershipJoin: String {
        """
        FROM conversations
        JOIN heads ON heads.conversation_id = conversations.conversation_id
        JOIN members ON members.conversation_id = conversations.conversation_id
        WHERE conversations.conversation_id =
        """
    }

    /// The read marks of all members, which only the first row receives; the conversation's id follows.
    ///
    /// The marks of too many members are not even read.
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

/// The messages behind a position in a conversation, up to a limit, and the head.
private struct MessageRange {
    /// The number that orders the messages.
    enum Order: String {
        case change = "messages.change"
        case seq = "messages.seq"
    }

    let rows: ArraySlice<MessageRow>
    let hasMore: Bool
    let marks: ReadMarks
    let lastChange: Int64
    let lastSeq: Int64

    /// `found` has one row more than `limit` when more messages follow, and a row without a message when there is none.
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

/// The selected part of a history.
struct HistorySpan: Sendable {
    var count = 20
    var before: Date?
    var page = 0
    var beforeSeq: Int64?
    var afterSeq: Int64?

    var skipped: Int { page * count }
}
