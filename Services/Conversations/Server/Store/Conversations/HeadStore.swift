import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `heads`: the counters that every message advances, whose row is the lock of its conversation.
struct HeadStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Waits for other changes of the conversation; values read by later statements stay valid until the transaction
    /// ends.
    ///
    /// Returns false when the conversation does not exist.
    func lock(_ conversation: Conversation.ID) async throws -> Bool {
        try await db.execute(BatchWriter.lock([conversation])).count == 1
    }

    /// Writes a system message under the lock; it counts as read, but takes a `seq` and a change number.
    func append(_ event: SystemEvent, to conversation: Conversation.ID) async throws {
        try await db.run(
            """
            WITH head AS (
                UPDATE heads
                SET last_seq = last_seq + 1, last_change = last_change + 1,
                    last_at = greatest(last_at, date_trunc('milliseconds', clock_timestamp()))
                WHERE conversation_id = \(conversation)
                RETURNING last_seq, last_change, last_user_seq, last_at
            ), queued AS (
                INSERT INTO outbox (conversation_id, from_seq, to_seq, written_at)
                SELECT \(conversation), last_seq, last_seq, last_at FROM head
            )
            INSERT INTO messages (conversation_id, seq, change, user_seq, data, mime, encoding, created_at)
            SELECT \(conversation), last_seq, last_change, last_user_seq,
                   \(try event.data()), \(SystemEvent.mime), \(SystemEvent.encoding), last_at
            FROM head
            """
        )
    }
}
