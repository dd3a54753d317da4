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
            ), \(unsafe: Self.everybody) \(token.id)
            )
            SELECT \(unsafe: MessageRow.names("found")), \(unsafe: Marks.columns)
            FROM span
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.columns("messages")),
                       row_number() OVER (ORDER BY messages.seq DESC) AS n
                FROM messages
                WHERE messages.conversation_id = \(token.id)
                    AND messages.seq > span.high - \(span.count) AND messages.seq <= span.high
            ) AS found ON true
            LEFT JOIN everybody ON found.n = 1
            ORDER BY found.n
            """
        )
        guard let first = rows.first else { return nil }
        let marks = try Marks(row: first)
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
    ) async throws -> (changes: Changes, place: Place)? {
        let rows = try await db.execute(
            """
            WITH scope AS MATERIALIZED (
                SELECT heads.last_change, heads.last_seq, conversations.member_count
                \(unsafe: Self.seen) \(conversation)
                    AND (\(secret) IS NULL OR conversations.secret = \(secret))
                    AND members.user_id = \(user.user) AND members.application_id = \(user.application)
            ), \(unsafe: Self.everybody) \(conversation)
            )
            SELECT \(unsafe: MessageRow.names("found")), \(unsafe: Marks.columns), scope.last_change, scope.last_seq
            FROM scope
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.columns("messages")),
                       row_number() OVER (ORDER BY messages.change) AS n
                FROM messages
                WHERE messages.conversation_id = \(conversation) AND messages.change > \(change)
                ORDER BY messages.change LIMIT \(limit + 1)
            ) AS found ON true
            LEFT JOIN everybody ON coalesce(found.n, 1) = 1
            ORDER BY found.n
            """
        )
        guard let first = rows.first else { return nil }
        let lastChange: Int64 = try first.decode("last_change")
        let place = Place(conversation: conversation, change: lastChange, seq: try first.decode("last_seq"))
        guard change <= lastChange else { return (.resync, place) }
        let marks = try Marks(row: first)
        let found = try rows.compactMap(MessageRow.init)
        let told = found.prefix(limit)
        let hasMore = found.count > limit
        let upTo = hasMore ? told.last?.change ?? lastChange : lastChange
        let missed = Changes.Missed(
            messages: try told.map { try $0.message(in: conversation, readers: marks.readers(of:)) },
            reads: marks.moved(after: change, upTo: upTo),
            change: upTo,
            more: hasMore
        )
        return (.missed(missed), place)
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
        let rows = try await db.execute(
            """
            WITH scope AS MATERIALIZED (
                SELECT heads.last_change, heads.last_seq, conversations.member_count
                \(unsafe: Self.seen) \(conversation)
                    AND members.user_id = \(user.user) AND members.application_id = \(user.application)
            ), \(unsafe: Self.everybody) \(conversation)
            )
            SELECT \(unsafe: MessageRow.names("found")), \(unsafe: Marks.columns), scope.last_change, scope.last_seq
            FROM scope
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.columns("messages")), row_number() OVER (ORDER BY messages.seq) AS n
                FROM messages
                WHERE messages.conversation_id = \(conversation) AND messages.seq > \(seq)
                ORDER BY messages.seq LIMIT \(limit + 1)
            ) AS found ON true
            LEFT JOIN everybody ON coalesce(found.n, 1) = 1
            ORDER BY found.n
            """
        )
        guard let first = rows.first else { return nil }
        guard try seq <= first.decode("last_seq") else { return .resync }
        let marks = try Marks(row: first)
        let found = try rows.compactMap(MessageRow.init)
        let told = found.prefix(limit)
        let hasMore = found.count > limit
        return .missed(
            Changes.Missed(
                messages: try told.map { try $0.message(in: conversation, readers: marks.readers(of:)) },
                reads: nil,
                change: try hasMore ? told.last?.seq ?? seq : first.decode("last_change"),
                more: hasMore
            )
        )
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
    private static var everybody: String {
        """
        everybody AS MATERIALIZED (
            SELECT array_agg(user_id ORDER BY place) AS users, array_agg(read_seq ORDER BY place) AS seqs,
                   array_agg(read_change ORDER BY place) AS changes
            FROM members
            WHERE (SELECT member_count FROM scope) <= \(ConversationStore<Executor>.readsLimit) AND conversation_id =
        """
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
