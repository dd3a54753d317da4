import ConversationsAPI
import Foundation
import Postgres

/// The event that users joined a conversation, or that it was created with them.
struct MemberJoin: Sendable {
    let id: Int64
    let conversation: Conversation.ID
    let application: String
    /// Nil when there are too many users to list.
    let users: [String]?
}

/// The table `member_joins`: the joins of about the last minute.
struct MemberJoinStore<Executor: PostgresExecutor> {
    /// The maximum number of users listed in one row.
    static var namesLimit: Int { 100 }

    let db: Executor

    /// Records a join in the transaction that adds the users.
    func insert(_ users: [String], of application: String, in conversation: Conversation.ID) async throws {
        try await db.run(
            """
            INSERT INTO member_joins (conversation_id, application_id, users, joined_at)
            VALUES (\(conversation), \(application), \(users.count <= Self.namesLimit ? users : nil),
                    clock_timestamp())
            """
        )
    }

    /// Returns the joins of the last `seconds` that are not in `processed`, oldest first.
    func recent(seconds: Double, except processed: [Int64], limit: Int) async throws -> [MemberJoin] {
        try await db.all(
            """
            SELECT join_id, conversation_id, application_id, users FROM member_joins
            WHERE joined_at > clock_timestamp() - make_interval(secs => \(seconds))
                AND join_id <> ALL (\(processed))
            ORDER BY joined_at LIMIT \(limit)
            """,
            as: { row in
                MemberJoin(
                    id: try row.int64("join_id"),
                    conversation: try row.decode("conversation_id"),
                    application: try row.string("application_id"),
                    users: try row.decodeIfPresent("users")
                )
            }
        )
    }

    func prune(olderThan seconds: Double) async throws {
        try await db.run(
            "DELETE FROM member_joins WHERE joined_at < clock_timestamp() - make_interval(secs => \(seconds))"
        )
    }
}
