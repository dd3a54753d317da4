import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The table `conversation_deletions`: deleted conversations, whose messages are removed in batches.
struct ConversationDeletionStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Deletes the conversation with its members and its token, and queues an event for connected members.
    ///
    /// Must run under the head's lock.
    func begin(_ conversation: Conversation.ID, of application: String) async throws {
        try await db.run(
            """
            WITH gone AS (
                DELETE FROM conversations WHERE conversation_id = \(conversation)
                RETURNING conversation_id
            )
            INSERT INTO conversation_deletions (conversation_id, application_id, deleted_at)
            SELECT conversation_id, \(application), clock_timestamp() FROM gone
            """
        )
        let body = JSONValue.object(["applicationId": .string(application)])
        try await OutboxStore(db: db).insert("conversation.deleted", of: conversation, body)
    }

    /// Returns a conversation that no other instance is removing, locked until the transaction ends.
    func next(at now: Date) async throws -> Conversation.ID? {
        try await db.first(
            """
            SELECT conversation_id FROM conversation_deletions WHERE \(isDue: .conversationDeletion, at: now)
            ORDER BY conversation_id LIMIT 1 FOR UPDATE SKIP LOCKED
            """,
            as: { try $0.decode("conversation_id") }
        )
    }

    /// Removes some remaining rows of a conversation; returns false when none was left.
    func removeSome(of conversation: Conversation.ID, limit: Int) async throws -> Bool {
        for table in ["search_entries", "reactions", "messages"] {
            let removed = try await db.run(
                """
                DELETE FROM \(identifier: table)
                WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM \(identifier: table) WHERE conversation_id = \(conversation) LIMIT \(limit)
                ))
                """
            )
            if removed > 0 { return true }
        }
        return false
    }

    func delete(_ conversation: Conversation.ID) async throws {
        try await db.run("DELETE FROM conversation_deletions WHERE conversation_id = \(conversation)")
    }
}

extension SetAsideKind {
    /// A deleted conversation whose messages are still to be removed.
    static let conversationDeletion = SetAsideKind(
        "conversation_deletion",
        table: "conversation_deletions",
        key: ["conversation_id": "bigint"],
        dropping: .keep
    )
}
