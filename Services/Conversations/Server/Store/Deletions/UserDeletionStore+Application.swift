import ConversationsAPI
import Postgres
import Wire

/// The deletion of applications, and the checks for data that a deletion has not removed yet.
extension UserDeletionStore {
    /// The tables with users' data, in the order in which they are cleared for an application without conversations.
    static var tables: [String] {
        ["user_deletions", "member_joins", "devices", "connected_devices", "blocks", "profiles", "users"]
    }

    /// Returns some of an application's conversations.
    func conversations(of application: String, limit: Int) async throws -> [Conversation.ID] {
        try await db.all(
            """
            SELECT conversation_id FROM conversations WHERE application_id = \(application)
            ORDER BY conversation_id LIMIT \(limit)
            """,
            as: { try $0.decode("conversation_id") }
        )
    }

    /// Returns whether messages of an application's deleted conversations are still to be removed.
    func hasDeletions(of application: String) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM conversation_deletions WHERE application_id = \(application)) AS has_deletions",
            as: { try $0.bool("has_deletions") }
        )
    }

    /// Returns whether the deletion of a user is still pending.
    func hasPending(_ user: User.ID) async throws -> Bool {
        try await db.one(
            """
            SELECT EXISTS (
                SELECT FROM user_deletions WHERE application_id = \(user.application) AND user_id = \(user.user)
            ) OR EXISTS (
                SELECT FROM member_joins WHERE application_id = \(user.application) AND \(user.user) = ANY (users)
            ) AS has_pending
            """,
            as: { try $0.bool("has_pending") }
        )
    }

    /// Deletes a conversation without members as if its creator had done so; returns false when it has members.
    ///
    /// Must run under the head's lock.
    func removeIfEmpty(_ conversation: Conversation.ID, of user: User.ID) async throws -> Bool {
        let hasMembers = try await db.first(
            "SELECT FROM members WHERE conversation_id = \(conversation) LIMIT 1",
            as: { _ in true }
        )
        guard hasMembers == nil else { return false }
        try await ConversationDeletionStore(db: db).begin(conversation, of: user.application)
        return true
    }
}
