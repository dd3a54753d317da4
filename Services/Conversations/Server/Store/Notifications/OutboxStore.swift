import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `outbox`: what was written and is to be handed on.
///
/// | kind | says |
/// | --- | --- |
/// | `messages` | the messages of `conversation_id` from `from_seq` to `to_seq` are new; each is in exactly one row, those of the suite among them. `PushOutboxStore` takes them |
/// | `message.deleted` | the message `from_seq` says nothing any more |
/// | `conversation.deleted` | `body` has the names |
///
/// Rows are taken with `SKIP LOCKED`, never by `outbox_id > last`: one that was written earlier may be committed later.
struct OutboxStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Leaves word of what others are to hear of, with what is to be said about it.
    func insert(_ kind: String, of conversation: Conversation.ID? = nil, _ body: JSONValue) async throws {
        try await db.run(
            """
            INSERT INTO outbox (kind, conversation_id, body, written_at)
            VALUES (\(kind), \(conversation), \(String(decoding: try body.compact(), as: UTF8.self)),
                    clock_timestamp())
            """
        )
    }

    /// Removes of the oldest those that are older than `moment`, and of new messages those older than `messageCutoff`.
    ///
    /// Returns how many there were in all, and how many of these said that messages are new.
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
