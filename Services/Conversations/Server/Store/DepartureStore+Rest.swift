import ConversationsAPI
import Postgres
import Wire

/// What is left of somebody who goes, and what goes with him since it was his alone.
extension DepartureStore {
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
