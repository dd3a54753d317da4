import ConversationsAPI
import Foundation
import Postgres
import Wire

/// Two people of one application, whoever is named first.
struct Pair: Sendable {
    let application: String
    let low: String
    let high: String

    init(_ user: User.ID, _ other: String) {
        application = user.application
        // Compared as the database does, byte by byte.
        let isInOrder = user.user.utf8.lexicographicallyPrecedes(other.utf8)
        low = isInOrder ? user.user : other
        high = isInOrder ? other : user.user
    }
}

/// The table `directs`: which conversation two people have with each other alone.
struct DirectStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Waits for whoever makes these two a conversation, or blocks one of them for the other; until the transaction ends.
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
