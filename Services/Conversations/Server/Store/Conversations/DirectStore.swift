import ConversationsAPI
import Foundation
import Postgres
import Wire

/// Two users of one application, in either order.
struct Pair: Sendable {
    let application: String
    let low: String
    let high: String

    init(_ user: User.ID, _ other: String) {
        application = user.application
        // Compares byte by byte, as the database does.
        let isInOrder = user.user.utf8.lexicographicallyPrecedes(other.utf8)
        low = isInOrder ? user.user : other
        high = isInOrder ? other : user.user
    }
}

/// The table `directs`: the direct conversation of each pair of users.
struct DirectStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Waits for transactions that create the pair's conversation or block one of the two, and holds the lock until the
    /// transaction ends.
    func lock(_ pair: Pair) async throws {
        try await db.run(
            """
            SELECT pg_advisory_xact_lock(hashtextextended(
                jsonb_build_array(\(pair.application), \(pair.low), \(pair.high))::text, 7072210
            ))
            """
        )
    }

    func conversation(of pair: Pair) async throws -> ConversationToken? {
        try await db.first(
            """
            SELECT conversations.conversation_id, conversations.secret
            FROM directs JOIN conversations ON conversations.conversation_id = directs.conversation_id
            WHERE directs.application_id = \(pair.application)
                AND directs.low_id = \(pair.low) AND directs.high_id = \(pair.high)
            """,
            as: { ConversationToken(id: try $0.decode("conversation_id"), secret: try $0.string("secret")) }
        )
    }

    func insert(_ conversation: Conversation.ID, of pair: Pair) async throws {
        try await db.run(
            """
            INSERT INTO directs (application_id, low_id, high_id, conversation_id)
            VALUES (\(pair.application), \(pair.low), \(pair.high), \(conversation))
            """
        )
    }
}
