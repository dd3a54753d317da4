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
            SELECT \(unsafe: MessageRow.names("found")), \(unsafe: Self.marks)
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

    /// What has changed since `change`; nil where the user sees no such conversation.
    ///
    /// One statement, and so one moment: every change up to the head's is there to be seen, since each was made under
    /// the head's lock.
    func changes(
        _ token: ConversationToken,
        for user: User.ID,
        after change: Int64,
        limit: Int
    ) async throws -> Changes? {
        let rows = try await db.execute(
            """
            WITH scope AS MATERIALIZED (
                SELECT heads.last_change, conversations.member_count
                \(unsafe: Self.seen) \(token.id) AND conversations.secret = \(token.secret)
                    AND members.user_id = \(user.user) AND members.application_id = \(user.application)
            ), \(unsafe: Self.everybody) \(token.id)
            )
            SELECT \(unsafe: MessageRow.names("found")), \(unsafe: Self.marks), scope.last_change
            FROM scope
            LEFT JOIN LATERAL (
                SELECT \(unsafe: MessageRow.columns("messages")),
                       row_number() OVER (ORDER BY messages.change) AS n
                FROM messages
                WHERE messages.conversation_id = \(token.id) AND messages.change > \(change)
                ORDER BY messages.change LIMIT \(limit + 1)
            ) AS found ON true
            LEFT JOIN everybody ON coalesce(found.n, 1) = 1
            ORDER BY found.n
            """
        )
        guard let first = rows.first else { return nil }
        let lastChange: Int64 = try first.decode("last_change")
        guard change <= lastChange else { return .resync }
        let marks = try Marks(row: first)
        let found = try rows.compactMap(MessageRow.init)
        let told = found.prefix(limit)
        let hasMore = found.count > limit
        let upTo = hasMore ? told.last?.change ?? lastChange : lastChange
        return .missed(
            Changes.Missed(
                messages: try told.map { try $0.message(in: token.id, readers: marks.readers(of:)) },
                reads: marks.moved(after: change, upTo: upTo),
                change: upTo,
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

    private static var marks: String { "everybody.users, everybody.seqs, everybody.changes" }

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

/// How far everybody has read; nothing where there are too many to be told.
private struct Marks {
    private let users: [String]?
    private let seqs: [Int64]
    private let changes: [Int64]

    init(row: PostgresRow) throws {
        users = try row.decodeIfPresent("users")
        seqs = try row.decodeIfPresent("seqs") ?? []
        changes = try row.decodeIfPresent("changes") ?? []
    }

    func readers(of seq: Int64) -> [String]? {
        users.map { users in zip(users, seqs).compactMap { user, mark in mark >= seq ? user : nil } }
    }

    func moved(after change: Int64, upTo last: Int64) -> [Changes.MovedMark]? {
        users.map { users in
            users.indices.compactMap { index in
                guard changes[index] > change, changes[index] <= last else { return nil }
                return Changes.MovedMark(userId: users[index], seq: seqs[index], change: changes[index])
            }
        }
    }
}
