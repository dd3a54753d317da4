import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The searched messages: the index, and messages that are not indexed yet.
struct SearchStore<Executor: PostgresExecutor> {
    let db: Executor

    /// The maximum number of unindexed messages that are searched, the newest, and their maximum bytes.
    private static var maximumUnindexed: Int { 2_000 }
    private static var maximumUnindexedBytes: Int { 1_048_576 }

    /// Returns the user's conversations that have changed since they were indexed, and up to which change they are
    /// indexed.
    func unindexed(of user: User.ID) async throws -> [(conversation: Conversation.ID, change: Int64)] {
        try await db.all(
            """
            SELECT members.conversation_id, coalesce(search_marks.indexed_change, 0) AS indexed_change
            FROM members
            JOIN heads ON heads.conversation_id = members.conversation_id
            LEFT JOIN search_marks ON search_marks.conversation_id = members.conversation_id
            WHERE members.application_id = \(user.application) AND members.user_id = \(user.user)
                AND heads.last_change > coalesce(search_marks.indexed_change, 0)
            """,
            as: { (try $0.decode("conversation_id"), try $0.int64("indexed_change")) }
        )
    }

    /// Returns the texts that have changed since `marks` and are older than `hit`, newest first.
    func texts(
        since marks: [(conversation: Conversation.ID, change: Int64)],
        before hit: SearchHit?
    ) async throws -> [(hit: SearchHit, text: String)] {
        try await db.all(
            """
            SELECT conversation_id, seq, created_at, data FROM (
                SELECT conversation_id, seq, created_at, data,
                       sum(octet_length(data)) OVER (ORDER BY created_at DESC, conversation_id DESC, seq DESC) AS total
                FROM (
                    SELECT messages.conversation_id, messages.seq, messages.created_at, messages.data
                    FROM unnest(\(marks.map(\.conversation.rawValue)), \(marks.map(\.change)))
                        AS marks (conversation_id, change)
                    JOIN messages ON messages.conversation_id = marks.conversation_id
                        AND messages.change > marks.change
                    WHERE \(unsafe: Self.isText) AND (
                        \(hit == nil) OR (messages.created_at, messages.conversation_id, messages.seq)
                            < (\(hit?.at), \(hit?.conversation), \(hit?.seq))
                    )
                    ORDER BY messages.created_at DESC, messages.conversation_id DESC, messages.seq DESC
                    LIMIT \(Self.maximumUnindexed)
                ) AS newest
            ) AS measured
            WHERE total <= \(Self.maximumUnindexedBytes)
            ORDER BY created_at DESC, conversation_id DESC, seq DESC
            """,
            as: { (try SearchHit(row: $0), try $0.string("data")) }
        )
    }

    /// Returns the ranges of the user's conversations with messages before `moment`, the latest first.
    func ranges(of user: User.ID, before moment: Date?) async throws -> [SearchRange] {
        try await db.all(
            """
            SELECT ranges.conversation_id, ranges.range_number, ranges.first_at, ranges.last_at
            FROM members
            JOIN search_ranges AS ranges ON ranges.conversation_id = members.conversation_id
            WHERE members.application_id = \(user.application) AND members.user_id = \(user.user)
                AND (\(moment == nil) OR ranges.first_at <= \(moment))
            ORDER BY ranges.last_at DESC
            """,
            as: { row in
                SearchRange(
                    conversation: try row.decode("conversation_id"),
                    number: try row.int64("range_number"),
                    firstAt: try row.date("first_at"),
                    lastAt: try row.date("last_at")
                )
            }
        )
    }

    /// Returns indexed messages that have all terms, newest first; some may have changed since.
    func hits(
        of terms: [SearchWords.Term],
        in ranges: some Collection<SearchRange>,
        before hit: SearchHit?,
        limit: Int
    ) async throws -> [SearchHit] {
        try await db.all(
            """
            SELECT conversation_id, seq, created_at
            FROM unnest(\(SearchRange.queries(terms, in: ranges))) AS queries (query)
            JOIN search_entries ON words @@ query::tsquery
            WHERE (\(hit == nil) OR (created_at, conversation_id, seq)
                    < (\(hit?.at), \(hit?.conversation), \(hit?.seq)))
            ORDER BY created_at DESC, conversation_id DESC, seq DESC
            LIMIT \(limit)
            """,
            as: SearchHit.init(row:)
        )
    }

    /// Returns the messages of `hits` that the user can see and that still exist, in the order of `hits`.
    func messages(at hits: [SearchHit], for user: User.ID) async throws -> [FoundMessage] {
        let limit = ConversationStore<Executor>.readsLimit
        let rows = try await db.execute(
            """
            SELECT \(unsafe: MessageRow.columns("messages")), conversations.conversation_id, conversations.secret,
                   conversations.label, conversations.type,
                   CASE WHEN conversations.member_count <= \(limit) THEN ARRAY(
                       SELECT people.user_id FROM members AS people
                       WHERE people.conversation_id = messages.conversation_id AND people.read_seq >= messages.seq
                       ORDER BY people.joined_seq
                   ) END AS readers
            FROM unnest(\(hits.map(\.conversation.rawValue)), \(hits.map(\.seq)))
                WITH ORDINALITY AS hits (conversation_id, seq, n)
            JOIN messages ON messages.conversation_id = hits.conversation_id AND messages.seq = hits.seq
            JOIN conversations ON conversations.conversation_id = hits.conversation_id
            JOIN members ON members.conversation_id = hits.conversation_id
                AND members.application_id = \(user.application) AND members.user_id = \(user.user)
            WHERE \(unsafe: Self.isText)
            ORDER BY hits.n
            """
        )
        return try rows.compactMap(FoundMessage.init(row:))
    }

    /// The condition for searched messages: texts that users sent and that were not deleted.
    static var isText: String {
        "messages.deleted_at IS NULL AND messages.encoding = 'utf8' AND messages.mime LIKE 'text/%'"
    }
}

extension SearchHit {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            at: try row.date("created_at"),
            conversation: try row.decode("conversation_id"),
            seq: try row.int64("seq")
        )
    }
}

extension FoundMessage {
    fileprivate init?(row: PostgresRow) throws {
        let id: Conversation.ID = try row.decode("conversation_id")
        let readers: [String]? = try row.decodeIfPresent("readers")
        guard let message = try MessageRow(row)?.message(in: id, readers: { _ in readers }) else { return nil }
        self.init(
            message,
            in: ConversationSummary(
                token: ConversationToken(id: id, secret: try row.string("secret")).description,
                label: try row.string("label"),
                type: Conversation.Kind(rawValue: try row.string("type")) ?? .group
            )
        )
    }
}
