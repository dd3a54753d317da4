import ConversationsAPI
import Postgres
import Wire

/// The tables `members`, `kicks`, `leaves` and `users`: the members of a conversation, the users who were kicked or
/// left, and all users.
///
/// All changes to them run under the head's lock.
struct MemberStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Inserts missing users, ordered by id, so that two transactions that insert the same users never deadlock.
    func ensureUsers(_ users: [String], of application: String) async throws {
        try await db.run(
            """
            INSERT INTO users (application_id, user_id)
            SELECT \(application), user_id FROM unnest(\(users)) AS user_id ORDER BY user_id
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Adds an existing user behind all other members, and lifts a kick when `liftsKick` is true.
    func add(_ user: User.ID, to conversation: Conversation.ID, liftsKick: Bool) async throws {
        try await db.run(
            """
            WITH counted AS (
                UPDATE conversations SET member_count = member_count + 1 WHERE conversation_id = \(conversation)
            ), lifted AS (
                DELETE FROM kicks
                WHERE \(liftsKick) AND conversation_id = \(conversation) AND user_id = \(user.user)
            ), rejoined AS (
                DELETE FROM leaves WHERE conversation_id = \(conversation) AND user_id = \(user.user)
            )
            INSERT INTO members (conversation_id, application_id, user_id, user_number, joined_seq, is_admin)
            SELECT heads.conversation_id, users.application_id, users.user_id, users.user_number,
                   heads.last_seq + 1, false
            FROM heads CROSS JOIN users
            WHERE heads.conversation_id = \(conversation)
                AND users.application_id = \(user.application) AND users.user_id = \(user.user)
            """
        )
    }

    /// Returns false when the user was not a member.
    func remove(_ user: String, from conversation: Conversation.ID) async throws -> Bool {
        try await db.run(
            """
            WITH removed AS (
                DELETE FROM members WHERE conversation_id = \(conversation) AND user_id = \(user)
                RETURNING conversation_id
            )
            UPDATE conversations SET member_count = member_count - 1
            FROM removed
            WHERE conversations.conversation_id = removed.conversation_id
            """
        ) == 1
    }

    /// Records that this user may not join by the token until an admin adds them.
    func recordKick(_ user: User.ID, from conversation: Conversation.ID) async throws {
        try await db.run("DELETE FROM leaves WHERE conversation_id = \(conversation) AND user_id = \(user.user)")
        try await db.run(
            """
            INSERT INTO kicks (conversation_id, application_id, user_id)
            VALUES (\(conversation), \(user.application), \(user.user))
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Records that this user left voluntarily.
    func recordLeave(_ user: User.ID, _ conversation: Conversation.ID) async throws {
        try await db.run(
            """
            INSERT INTO leaves (conversation_id, application_id, user_id)
            VALUES (\(conversation), \(user.application), \(user.user))
            ON CONFLICT DO NOTHING
            """
        )
    }

    func hasLeft(_ user: String, _ conversation: Conversation.ID) async throws -> Bool {
        try await db.first(
            "SELECT FROM leaves WHERE conversation_id = \(conversation) AND user_id = \(user)",
            as: { _ in true }
        ) ?? false
    }

    /// Returns false when the user is not a member.
    func set(admin isAdmin: Bool, _ user: String, in conversation: Conversation.ID) async throws -> Bool {
        try await db.run(
            """
            UPDATE members SET is_admin = \(isAdmin)
            WHERE conversation_id = \(conversation) AND user_id = \(user)
            """
        ) == 1
    }

    /// Sets whether the other user of a direct conversation has blocked `user`.
    func set(blocked isBlocked: Bool, _ user: String, in conversation: Conversation.ID) async throws {
        try await db.run(
            """
            UPDATE members SET is_blocked = \(isBlocked)
            WHERE conversation_id = \(conversation) AND user_id = \(user)
            """
        )
    }

    func set(pushEnabled isEnabled: Bool, _ user: String, in conversation: Conversation.ID) async throws {
        try await db.run(
            """
            UPDATE members SET push_enabled = \(isEnabled)
            WHERE conversation_id = \(conversation) AND user_id = \(user)
            """
        )
    }

    /// Returns nil when the user is not a member.
    func isAdmin(_ user: String, in conversation: Conversation.ID) async throws -> Bool? {
        try await db.first(
            "SELECT is_admin FROM members WHERE conversation_id = \(conversation) AND user_id = \(user)",
            as: { try $0.bool("is_admin") }
        )
    }

    func adminCount(of conversation: Conversation.ID) async throws -> Int {
        try await db.one(
            "SELECT count(*) AS admins FROM members WHERE conversation_id = \(conversation) AND is_admin",
            as: { try $0.int("admins") }
        )
    }

    /// Makes the oldest member an admin when there is no admin.
    func ensureAdmin(in conversation: Conversation.ID) async throws {
        try await db.run(
            """
            UPDATE members SET is_admin = true
            WHERE conversation_id = \(conversation)
                AND user_id = (
                    SELECT user_id FROM members WHERE conversation_id = \(conversation) ORDER BY joined_seq LIMIT 1
                )
                AND NOT EXISTS (SELECT FROM members WHERE conversation_id = \(conversation) AND is_admin)
            """
        )
    }
}
