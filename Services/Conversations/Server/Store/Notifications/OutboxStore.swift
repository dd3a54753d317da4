import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `outbox`: new messages for push, and deletions.
///
/// | kind | meaning |
/// | --- | --- |
/// | `messages` | the messages of `conversation_id` from `from_seq` to `to_seq` are new |
/// | `message.deleted` | the message `from_seq` was deleted |
/// | `conversation.deleted` | the conversation was deleted; `body` has the application's id |
///
/// Each message, also a system message, is in exactly one row of kind `messages`. `PushOutboxStore` claims these rows.
///
/// Rows are claimed with `SKIP LOCKED`, never by `outbox_id > last`: a row written earlier may be committed later.
struct OutboxStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Inserts an event with its content.
    func insert(_ kind: String, of conversation: Conversation.ID? = nil, _ body: JSONValue) async throws {
        try await db.run(
            """
            INSERT INTO outbox (kind, conversation_id, body, written_at)
            VALUES (\(kind), \(conversation), \(String(decoding: try body.compact(), as: UTF8.self)),
                    clock_timestamp())
            """
        )
    }

    /// Removes those of the oldest rows that are older than `moment`; rows of new messages, those older than
    /// `messageCutoff`.
    ///
    /// Returns the number of removed rows, and how many of them were about new messages.
    func prune(
        before moment: Date,
        messagesBefore messageCutoff: Date,
        limit: Int
    ) async throws -> (all: Int, messages: Int) {
        try await db.one(
            """
            WITH gone AS (
                DELETE FROM outbox WHERE outbox_id IN (
                    SELECT outbox_id FROM (
                        SELECT outbox_id, kind, written_at FROM outbox ORDER BY outbox_id LIMIT \(limit)
                    ) AS oldest
                    WHERE written_at < CASE kind WHEN 'messages' THEN \(messageCutoff) ELSE \(moment) END
                )
                RETURNING kind
            )
            SELECT count(*) AS gone, count(*) FILTER (WHERE kind = 'messages') AS messages FROM gone
            """,
            as: { (try $0.int("gone"), try $0.int("messages")) }
        )
    }
}
