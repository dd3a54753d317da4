import ConversationsAPI
import Foundation
import Postgres
import Wire

/// Keeps the index of what is searched: all within a transaction that holds the conversations' marks.
struct SearchIndexStore<Executor: PostgresExecutor> {
    let db: Executor

    /// A message that changed since its conversation was indexed.
    struct Changed: Sendable {
        let conversation: Conversation.ID
        let seq: Int64
        let change: Int64
        let createdAt: Date
        /// Nil for what is not searched.
        let text: String?
    }

    /// What is written now need not be on disk at once: lost in a crash, it is made anew, for its mark is lost with it.
    func relax() async throws {
        try await db.run("SET LOCAL synchronous_commit TO off")
    }

    /// Those of the conversations that are there and that nobody else is indexing, with the change indexed last.
    func claim(_ conversations: [Conversation.ID]) async throws -> [(conversation: Conversation.ID, change: Int64)] {
        let ids = conversations.map(\.rawValue)
        try await db.run(
            """
            INSERT INTO search_marks (conversation_id, indexed_change)
            SELECT conversation_id, 0 FROM conversations WHERE conversation_id = ANY (\(ids))
            ORDER BY conversation_id
            ON CONFLICT DO NOTHING
            """
        )
        return try await db.all(
            """
            SELECT conversation_id, indexed_change FROM search_marks WHERE conversation_id = ANY (\(ids))
            ORDER BY conversation_id FOR UPDATE SKIP LOCKED
            """,
            as: { (try $0.decode("conversation_id"), try $0.int64("indexed_change")) }
        )
    }

    /// What changed since, in the order it did, at most so many of each conversation; and the change up to which this
    /// is all there is.
    func changed(
        since marks: [(conversation: Conversation.ID, change: Int64)],
        limit: Int
    ) async throws -> (messages: [Changed], upTo: [Conversation.ID: Int64]) {
        let rows = try await db.execute(
            """
            SELECT heads.conversation_id, heads.last_change, found.seq, found.change, found.created_at, found.text
            FROM unnest(\(marks.map(\.conversation.rawValue)), \(marks.map(\.change))) AS marks (conversation_id, change)
            JOIN heads ON heads.conversation_id = marks.conversation_id
            LEFT JOIN LATERAL (
                SELECT messages.seq, messages.change, messages.created_at,
                       CASE WHEN \(unsafe: SearchStore<Executor>.isText) THEN messages.data END AS text
                FROM messages
                WHERE messages.conversation_id = marks.conversation_id AND messages.change > marks.change
                ORDER BY messages.change LIMIT \(limit)
            ) AS found ON true
            ORDER BY heads.conversation_id, found.change
            """
        )
        var (messages, upTo, counts): ([Changed], [Conversation.ID: Int64], [Conversation.ID: Int]) = ([], [:], [:])
        for row in rows {
            let conversation: Conversation.ID = try row.decode("conversation_id")
            upTo[conversation] = try row.int64("last_change")
            guard let seq: Int64 = try row.decodeIfPresent("seq") else { continue }
            let message = Changed(
                conversation: conversation,
                seq: seq,
                change: try row.int64("change"),
                createdAt: try row.date("created_at"),
                text: try row.optionalString("text")
            )
            messages.append(message)
            counts[conversation, default: 0] += 1
            // There may be more than these.
            if counts[conversation] == limit { upTo[conversation] = message.change }
        }
        return (messages, upTo)
    }

    /// Writes the words of messages, each headed; those without any are not there.
    func write(_ messages: [(message: Changed, words: String)]) async throws {
        let (spoken, silent) = (messages.filter { !$0.words.isEmpty }, messages.filter { $0.words.isEmpty })
        if !silent.isEmpty {
            try await db.run(
                """
                DELETE FROM search_entries
                USING unnest(\(silent.map(\.message.conversation.rawValue)), \(silent.map(\.message.seq)))
                    AS silent (conversation_id, seq)
                WHERE search_entries.conversation_id = silent.conversation_id AND search_entries.seq = silent.seq
                """
            )
        }
        guard !spoken.isEmpty else { return }
        try await db.run(
            """
            INSERT INTO search_entries (conversation_id, seq, created_at, words)
            SELECT conversation_id, seq, created_at, array_to_tsvector(string_to_array(words, ' '))
            FROM unnest(
                \(spoken.map(\.message.conversation.rawValue)), \(spoken.map(\.message.seq)),
                \(spoken.map(\.message.createdAt)), \(spoken.map(\.words))
            ) AS spoken (conversation_id, seq, created_at, words)
            ON CONFLICT (conversation_id, seq) DO UPDATE SET words = EXCLUDED.words
            """
        )
        try await db.run(
            """
            INSERT INTO search_stretches (conversation_id, stretch, first_at, last_at)
            SELECT conversation_id, stretch, min(created_at), max(created_at)
            FROM unnest(
                \(spoken.map(\.message.conversation.rawValue)),
                \(spoken.map { SearchStretch.number(of: $0.message.seq) }), \(spoken.map(\.message.createdAt))
            ) AS spoken (conversation_id, stretch, created_at)
            GROUP BY conversation_id, stretch
            ON CONFLICT (conversation_id, stretch) DO UPDATE
            SET first_at = least(search_stretches.first_at, EXCLUDED.first_at),
                last_at = greatest(search_stretches.last_at, EXCLUDED.last_at)
            """
        )
    }

    func mark(_ changes: [Conversation.ID: Int64]) async throws {
        let changes = Array(changes)
        try await db.run(
            """
            UPDATE search_marks SET indexed_change = marks.change
            FROM unnest(\(changes.map(\.key.rawValue)), \(changes.map(\.value))) AS marks (conversation_id, change)
            WHERE search_marks.conversation_id = marks.conversation_id
            """
        )
    }

    /// Of the next so many conversations in the order of their ids, those that have changed since they were indexed.
    func stale(
        after last: Conversation.ID,
        limit: Int
    ) async throws -> (conversations: [Conversation.ID], last: Conversation.ID?) {
        let rows = try await db.all(
            """
            SELECT next.conversation_id, next.last_change > coalesce(search_marks.indexed_change, 0) AS is_stale
            FROM (
                SELECT conversation_id, last_change FROM heads WHERE conversation_id > \(last)
                ORDER BY conversation_id LIMIT \(limit)
            ) AS next
            LEFT JOIN search_marks ON search_marks.conversation_id = next.conversation_id
            ORDER BY next.conversation_id
            """,
            as: { (id: try $0.decode("conversation_id", as: Conversation.ID.self), isStale: try $0.bool("is_stale")) }
        )
        return (rows.filter(\.isStale).map(\.id), rows.count == limit ? rows.last?.id : nil)
    }
}
