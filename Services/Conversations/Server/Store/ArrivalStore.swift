import ConversationsAPI
import Foundation
import Postgres

/// Somebody came into a conversation, or it was made with him in it.
struct Arrival: Sendable {
    let id: Int64
    let conversation: Conversation.ID
    let application: String
    /// Nil: too many to be named.
    let users: [String]?
}

/// The table `arrivals`: who came where a short while ago.
struct ArrivalStore<Executor: PostgresExecutor> {
    /// So many are named.
    static var namesLimit: Int { 100 }

    let db: Executor

    /// In the transaction in which they come.
    func insert(_ users: [String], of application: String, in conversation: Conversation.ID) async throws {
        try await db.run(
            """
            INSERT INTO arrivals (conversation_id, application_id, users, arrived_at)
            VALUES (\(conversation), \(application), \(users.count <= Self.namesLimit ? users : nil),
                    clock_timestamp())
            """
        )
    }

    /// Those of the last so many seconds but the ones that are known; the oldest first.
    func recent(seconds: Double, except known: [Int64], limit: Int) async throws -> [Arrival] {
        try await db.all(
            """
            SELECT arrival_id, conversation_id, application_id, users FROM arrivals
            WHERE arrived_at > clock_timestamp() - make_interval(secs => \(seconds))
                AND arrival_id <> ALL (\(known))
            ORDER BY arrived_at LIMIT \(limit)
            """,
            as: { row in
                Arrival(
                    id: try row.int64("arrival_id"),
                    conversation: try row.decode("conversation_id"),
                    application: try row.string("application_id"),
                    users: try row.decodeIfPresent("users")
                )
            }
        )
    }

    func prune(olderThan seconds: Double) async throws {
        try await db.run(
            "DELETE FROM arrivals WHERE arrived_at < clock_timestamp() - make_interval(secs => \(seconds))"
        )
    }
}
