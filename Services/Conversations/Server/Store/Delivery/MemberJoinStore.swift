import ConversationsAPI
import Foundation
import Postgres

/// Somebody came into a conversation, or it was made with him in it.
struct MemberJoin: Sendable {
    let id: Int64
    let conversation: Conversation.ID
    let application: String
    /// Nil: too many to be named.
    let users: [String]?
}

/// The table `member_joins`: who came where a short while ago.
struct MemberJoinStore<Executor: PostgresExecutor> {
    /// So many are named.
    static var namesLimit: Int { 100 }

    let db: Executor

    /// In the transaction in which they come.
    func insert(_ users: [String], of application: String, in conversation: Conversation.ID) async throws {
        try await db.run(
            """
            INSERT INTO member_joins (conversation_id, application_id, users, joined_at)
            VALUES (\(conversation), \(application), \(users.count <= Self.namesLimit ? users : nil),
                    clock_timestamp())
            """
        )
    }

    /// Those of the last so many seconds but the ones that are known; the oldest first.
    func recent(seconds: Double, except known: [Int64], limit: Int) async throws -> [MemberJoin] {
        try await db.all(
            """
            SELECT join_id, conversation_id, application_id, users FROM member_joins
            WHERE joined_at > clock_timestamp() - make_interval(secs => \(seconds))
                AND join_id <> ALL (\(known))
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
