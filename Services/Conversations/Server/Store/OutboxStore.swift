import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `outbox`: what was written and is to be handed on.
///
/// | kind | says |
/// | --- | --- |
/// | `messages` | the messages of `conversation_id` from `from_seq` to `to_seq` are new; each is in exactly one row, those of the suite among them. What a notification says is in `messages.push`, who wants none in `members.push_enabled`, who has a socket of his own in `connected_devices` |
/// | `message.deleted` | the message `from_seq` says nothing any more |
/// | `conversation.deleted` · `user.blocked` · `user.unblocked` | `body` has the names |
///
/// Rows are taken with `SKIP LOCKED`, never by `outbox_id > last`: one that was written earlier may be committed later.
struct OutboxStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Leaves word of what others are to hear of, with what is to be said about it.
    func tell(_ kind: String, of conversation: Conversation.ID? = nil, _ body: JSONValue) async throws {
        try await db.run(
            """
            INSERT INTO outbox (kind, conversation_id, body, written_at)
            VALUES (\(kind), \(conversation), \(String(decoding: try body.compact(), as: UTF8.self)),
                    clock_timestamp())
            """
        )
    }

    /// Removes the oldest that are older than `moment`; returns how many.
    func prune(before moment: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM outbox WHERE outbox_id IN (
                SELECT outbox_id FROM (
                    SELECT outbox_id, written_at FROM outbox ORDER BY outbox_id LIMIT \(limit)
                ) AS oldest
                WHERE written_at < \(moment)
            )
            """
        )
    }
}
