import ConversationsAPI
import Postgres
import Wire

/// What is left of somebody who goes, and what goes with him since it was his alone.
extension DepartureStore {
    /// The tables with data of users, in the order in which they are cleared of an application without conversations.
    static var tables: [String] {
        ["departures", "arrivals", "devices", "connected_devices", "blocks", "profiles", "users"]
    }

    /// Some of an application's conversations.
    func conversations(of application: String, limit: Int) async throws -> [Conversation.ID] {
        try await db.all(
            """
            SELECT conversation_id FROM conversations WHERE application_id = \(application)
            ORDER BY conversation_id LIMIT \(limit)
            """,
            as: { try $0.decode("conversation_id") }
        )
    }

    /// Whether messages of deleted conversations of an application are still to be removed.
    func hasDeletions(of application: String) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM deletions WHERE application_id = \(application)) AS has_deletions",
            as: { try $0.bool("has_deletions") }
        )
    }

    /// Whether there is still something to be done about somebody.
    func isThere(_ user: User.ID) async throws -> Bool {
        try await db.one(
            """
            SELECT EXISTS (
                SELECT FROM departures WHERE application_id = \(user.application) AND user_id = \(user.user)
            ) OR EXISTS (
                SELECT FROM arrivals WHERE application_id = \(user.application) AND \(user.user) = ANY (users)
            ) AS is_there
            """,
            as: { try $0.bool("is_there") }
        )
    }

    /// Under the head's lock: a conversation without anybody goes as if its creator had deleted it; false: somebody is there.
    func removeIfEmpty(_ conversation: Conversation.ID, of user: User.ID) async throws -> Bool {
        let isInhabited = try await db.first(
            "SELECT FROM members WHERE conversation_id = \(conversation) LIMIT 1",
            as: { _ in true }
        )
        guard isInhabited == nil else { return false }
        try await DeletionStore(db: db).begin(conversation, of: user.application)
        return true
    }
}
