import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// A message that changed since its conversation was indexed.
struct ChangedMessage: Sendable {
    let conversation: Conversation.ID
    let seq: Int64
    let change: Int64
    let createdAt: Date
    /// The bytes of its text; nil for a message that is not searched.
    let size: Int?
}

/// A conversation that has changed since it was indexed.
struct ChangedConversation: Sendable {
    let id: Conversation.ID
    /// The change up to which it is indexed.
    let indexedChange: Int64
    let lastChange: Int64
    /// In the order of their changes.
    var messages: [ChangedMessage] = []
}

/// The search index: messages to index, the words of messages, and the change up to which each conversation is indexed.
struct SearchIndexStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Allows a crash to lose these writes: the mark is lost with them, so they are made again.
    func commitAsynchronously() async throws {
        try await db.run("SET LOCAL synchronous_commit TO off")
    }

    /// Returns those of the conversations that exist, each with at most `limit` changed messages, without their texts.
    func pending(_ conversations: [Conversation.ID], limit: Int) async throws -> [ChangedConversation] {
        let rows = try await db.execute(
            """
            SELECT heads.conversation_id, heads.last_change, coalesce(search_marks.indexed_change, 0) AS indexed_change,
                   found.seq, found.change, found.created_at, found.size
            FROM heads
            LEFT JOIN search_marks ON search_marks.conversation_id = heads.conversation_id
            LEFT JOIN LATERAL (
                SELECT messages.seq, messages.change, messages.created_at,
                       CASE WHEN \(unsafe: SearchStore<Executor>.isText) THEN octet_length(messages.data) END AS size
                FROM messages
                WHERE messages.conversation_id = heads.conversation_id
                    AND messages.change > coalesce(search_marks.indexed_change, 0)
                ORDER BY messages.change LIMIT \(limit)
            ) AS found ON true
            WHERE heads.conversation_id = ANY (\(conversations.map(\.rawValue)))
            ORDER BY heads.conversation_id, found.change
            """
        )
        var pending: [ChangedConversation] = []
        for row in rows {
            let conversation: Conversation.ID = try row.decode("conversation_id")
            if pending.last?.id != conversation {
                pending.append(
                    ChangedConversation(
                        id: conversation,
                        indexedChange: try row.int64("indexed_change"),
                        lastChange: try row.int64("last_change")
                    )
                )
            }
            guard let seq: Int64 = try row.decodeIfPresent("seq") else { continue }
            pending[pending.count - 1].messages.append(
                ChangedMessage(
                    conversation: conversation,
                    seq: seq,
                    change: try row.int64("change"),
                    createdAt: try row.date("created_at"),
                    size: try row.optionalInt("size")
                )
            )
        }
        return pending
    }

    /// Returns the current text of each message; nil for a message that is not searched.
    func texts(of messages: [ChangedMessage]) async throws -> [String?] {
        let rows = try await db.all(
            """
            SELECT input.n, messages.data
            FROM unnest(\(messages.map(\.conversation.rawValue)), \(messages.map(\.seq)))
                WITH ORDINALITY AS input (conversation_id, seq, n)
            JOIN messages ON messages.conversation_id = input.conversation_id AND messages.seq = input.seq
            WHERE \(unsafe: SearchStore<Executor>.isText)
            """,
            as: { (n: try $0.int("n"), text: try $0.string("data")) }
        )
        var texts = [String?](repeating: nil, count: messages.count)
        for (n, text) in rows where texts.indices.contains(n - 1) { texts[n - 1] = text }
        return texts
    }

    /// Locks the marks of those conversations that exist, that no other instance is indexing, and whose index has not
    /// moved since `pending` was read.
    func claim(_ pending: [ChangedConversation]) async throws -> Set<Conversation.ID> {
        let (ids, changes) = (pending.map(\.id.rawValue), pending.map(\.indexedChange))
        try await db.run(
            """
            INSERT INTO search_marks (conversation_id, indexed_change)
            SELECT conversation_id, 0 FROM conversations WHERE conversation_id = ANY (\(ids))
            ORDER BY conversation_id
            ON CONFLICT DO NOTHING
            """
        )
        return Set(
            try await db.all(
                """
                SELECT search_marks.conversation_id
                FROM search_marks
                JOIN unnest(\(ids), \(changes)) AS pending (conversation_id, indexed_change)
                    ON pending.conversation_id = search_marks.conversation_id
                        AND pending.indexed_change = search_marks.indexed_change
                ORDER BY search_marks.conversation_id FOR UPDATE OF search_marks SKIP LOCKED
                """,
                as: { try $0.decode("conversation_id", as: Conversation.ID.self) }
            )
        )
    }

    /// Writes the words of messages, each word with its head; removes messages without words from the index.
    func write(_ messages: [(message: ChangedMessage, words: String)]) async throws {
        let (filled, blank) = (messages.filter { !$0.words.isEmpty }, messages.filter { $0.words.isEmpty })
        if !blank.isEmpty {
            try await db.run(
                """
                DELETE FROM search_entries
                USING unnest(\(blank.map(\.message.conversation.rawValue)), \(blank.map(\.message.seq)))
                    AS blank (conversation_id, seq)
                WHERE search_entries.conversation_id = blank.conversation_id AND search_entries.seq = blank.seq
                """
            )
        }
        guard !filled.isEmpty else { return }
        try await db.run(
            """
            INSERT INTO search_entries (conversation_id, seq, created_at, words)
            SELECT conversation_id, seq, created_at, array_to_tsvector(string_to_array(words, ' '))
            FROM unnest(
                \(filled.map(\.message.conversation.rawValue)), \(filled.map(\.message.seq)),
                \(filled.map(\.message.createdAt)), \(filled.map(\.words))
            ) AS filled (conversation_id, seq, created_at, words)
            ON CONFLICT (conversation_id, seq) DO UPDATE SET words = EXCLUDED.words
            """
        )
        try await db.run(
            """
            INSERT INTO search_ranges (conversation_id, range_number, first_at, last_at)
            SELECT conversation_id, range_number, min(created_at), max(created_at)
            FROM unnest(
                \(filled.map(\.message.conversation.rawValue)),
                \(filled.map { SearchRange.number(of: $0.message.seq) }), \(filled.map(\.message.createdAt))
            ) AS filled (conversation_id, range_number, created_at)
            GROUP BY conversation_id, range_number
            ON CONFLICT (conversation_id, range_number) DO UPDATE
            SET first_at = least(search_ranges.first_at, EXCLUDED.first_at),
                last_at = greatest(search_ranges.last_at, EXCLUDED.last_at)
            """
        )
    }

    func mark(_ changes: [Conversation.ID: Int64]) async throws {
        guard !changes.isEmpty else { return }
        let changes = Array(changes)
        try await db.run(
            """
            UPDATE search_marks SET indexed_change = marks.change
            FROM unnest(\(changes.map(\.key.rawValue)), \(changes.map(\.value))) AS marks (conversation_id, change)
            WHERE search_marks.conversation_id = marks.conversation_id
            """
        )
    }

    /// Scans the next `limit` conversations by id; returns those that changed since they were indexed, and the last one
    /// scanned.
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

extension SetAsideKind {
    /// A message that could not be indexed for search.
    static let searchedMessage = SetAsideKind(
        "searched_message",
        table: "search_failures",
        key: ["conversation_id": "bigint", "seq": "bigint"],
        due: "retry_at",
        clock: .database,
        maximumAttempts: 10
    )
}

extension ChangedMessage {
    /// Returns the operator's record of a message that could not be indexed.
    func failed(_ error: any Error) -> FailedRow {
        let detail = (error as? PostgresError)?.description ?? "\(type(of: error))"
        return FailedRow(["\(conversation.rawValue)", "\(seq)"], .failing, detail: detail)
    }
}

/// The table `search_failures`: messages that could not be indexed, with the times of their retries.
extension SearchIndexStore {
    /// Removes the next message of a conversation from the index, schedules its retry, and moves the mark behind it.
    func postpone(nextOf conversation: Conversation.ID) async throws -> ChangedMessage? {
        guard let next = try await pending([conversation], limit: 1).first, let message = next.messages.first,
            try await claim([next]).contains(conversation)
        else { return nil }
        try await db.run(
            "DELETE FROM search_entries WHERE conversation_id = \(conversation) AND seq = \(message.seq)"
        )
        try await db.run(
            """
            INSERT INTO search_failures (conversation_id, seq, change, retry_at)
            VALUES (\(conversation), \(message.seq), \(message.change), clock_timestamp() + interval '2 seconds')
            ON CONFLICT (conversation_id, seq) DO UPDATE SET change = EXCLUDED.change, retry_at = EXCLUDED.retry_at
            """
        )
        try await mark([conversation: message.change])
        return message
    }

    /// Returns messages that are due for a retry.
    ///
    /// A message that has changed since is indexed with its conversation instead.
    func dueFailures(limit: Int) async throws -> [ChangedMessage] {
        let rows = try await db.all(
            """
            SELECT failures.conversation_id, failures.seq, failures.change, messages.created_at,
                   CASE WHEN \(unsafe: SearchStore<Executor>.isText) THEN octet_length(messages.data) END AS size
            FROM search_failures AS failures
            LEFT JOIN messages ON messages.conversation_id = failures.conversation_id
                AND messages.seq = failures.seq AND messages.change = failures.change
            WHERE failures.retry_at <= clock_timestamp()
            ORDER BY failures.retry_at LIMIT \(limit)
            """
        ) { row in
            ChangedMessage(
                conversation: try row.decode("conversation_id"),
                seq: try row.int64("seq"),
                change: try row.int64("change"),
                createdAt: try row.optionalDate("created_at") ?? .distantPast,
                size: try row.optionalInt("size")
            )
        }
        for gone in rows where gone.size == nil { try await forget(gone) }
        return rows.filter { $0.size != nil }
    }

    /// Indexes a message that is behind its conversation's mark, unless it has changed meanwhile.
    func retry(_ message: ChangedMessage, _ written: [(message: ChangedMessage, words: String)]) async throws {
        try await commitAsynchronously()
        let isSame = try await db.first(
            """
            SELECT messages.change = \(message.change) AS is_same
            FROM search_marks
            JOIN messages ON messages.conversation_id = search_marks.conversation_id AND messages.seq = \(message.seq)
            WHERE search_marks.conversation_id = \(message.conversation)
            FOR UPDATE OF search_marks
            """,
            as: { try $0.bool("is_same") }
        )
        if isSame == true { try await write(written) }
        try await forget(message)
    }

    private func forget(_ message: ChangedMessage) async throws {
        try await db.run(
            """
            DELETE FROM search_failures
            WHERE conversation_id = \(message.conversation) AND seq = \(message.seq) AND change = \(message.change)
            """
        )
    }
}
