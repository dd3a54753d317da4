import ConversationsAPI
import Foundation
import Postgres
import Wire

/// Whether a user has an open socket at any instance, and when the user last had one.
struct Presence: Hashable, Sendable {
    let user: User.ID
    let isOnline: Bool
    /// Nil for a user who never had an open socket.
    let lastSeen: Date?
}

/// The presences of users, and the users who see them: members of the same direct conversation or small group, unless
/// either of the two blocks the other.
struct PresenceStore<Executor: PostgresExecutor> {
    /// The maximum number of a user's conversations in which the user's presence is announced; the newest ones are used.
    private static var audienceLimit: Int { 1_000 }

    let db: Executor

    func presences(of users: [String], of application: String) async throws -> [Presence] {
        try await db.all(
            """
            SELECT users.application_id, users.user_id, users.last_seen_at, EXISTS (
                SELECT FROM connected_devices AS devices
                JOIN instances ON instances.instance_id = devices.instance_id
                WHERE devices.application_id = users.application_id AND devices.user_id = users.user_id
                    AND instances.lease_until > clock_timestamp()
            ) AS is_online
            FROM users WHERE users.application_id = \(application) AND users.user_id = ANY (\(users))
            """,
            as: { row in
                Presence(
                    user: try User.ID(row: row),
                    isOnline: try row.bool("is_online"),
                    lastSeen: try row.optionalDate("last_seen_at")
                )
            }
        )
    }

    /// Returns the presences that each viewer may see in a conversation, for many viewers at once, as
    /// `Presences.presences`.
    func presences(
        seen: [(conversation: Conversation.ID, viewer: String)],
        of application: String
    ) async throws -> [(conversation: Conversation.ID, viewer: String, presence: Presence)] {
        try await db.all(
            """
            SELECT input.conversation_id, input.viewer_id, users.application_id, users.user_id, users.last_seen_at,
                   EXISTS (
                       SELECT FROM connected_devices AS devices
                       JOIN instances ON instances.instance_id = devices.instance_id
                       WHERE devices.application_id = users.application_id AND devices.user_id = users.user_id
                           AND instances.lease_until > clock_timestamp()
                   ) AS is_online
            FROM unnest(\(seen.map(\.conversation.rawValue)), \(seen.map(\.viewer)))
                AS input (conversation_id, viewer_id)
            JOIN members AS mine ON mine.conversation_id = input.conversation_id AND mine.user_id = input.viewer_id
                AND mine.application_id = \(application)
            JOIN conversations ON conversations.conversation_id = input.conversation_id
                AND conversations.member_count <= \(ConversationStore<Executor>.readsLimit)
            JOIN members AS people ON people.conversation_id = input.conversation_id
                AND people.user_id <> input.viewer_id
            JOIN users ON users.application_id = people.application_id AND users.user_id = people.user_id
            WHERE NOT EXISTS (
                SELECT FROM blocks
                WHERE blocks.application_id = \(application) AND blocks.user_id = input.viewer_id
                    AND blocks.blocked_id = people.user_id
            ) AND NOT EXISTS (
                SELECT FROM blocks
                WHERE blocks.application_id = \(application) AND blocks.user_id = people.user_id
                    AND blocks.blocked_id = input.viewer_id
            )
            ORDER BY people.conversation_id, people.joined_seq
            """,
            as: { row in
                let presence = Presence(
                    user: try User.ID(row: row),
                    isOnline: try row.bool("is_online"),
                    lastSeen: try row.optionalDate("last_seen_at")
                )
                return (try row.decode("conversation_id"), try row.string("viewer_id"), presence)
            }
        )
    }

    /// Returns the conversations in which a user's presence is announced.
    func audience(of user: User.ID) async throws -> [Conversation.ID] {
        try await db.all(
            """
            SELECT mine.conversation_id FROM (
                SELECT conversation_id FROM members
                WHERE application_id = \(user.application) AND user_id = \(user.user)
                ORDER BY conversation_id DESC LIMIT \(Self.audienceLimit)
            ) AS mine
            WHERE (
                SELECT member_count FROM conversations WHERE conversations.conversation_id = mine.conversation_id
            ) <= \(ConversationStore<Executor>.readsLimit)
            """,
            as: { try $0.decode("conversation_id") }
        )
    }

    /// Returns the other members of a conversation that `user` is a member of, when it is small enough for presences.
    func partners(of user: User.ID, in conversation: Conversation.ID) async throws -> [String] {
        try await db.all(
            """
            SELECT people.user_id
            FROM members AS mine
            JOIN conversations ON conversations.conversation_id = mine.conversation_id
            JOIN members AS people ON people.conversation_id = mine.conversation_id
            WHERE mine.conversation_id = \(conversation) AND mine.application_id = \(user.application)
                AND mine.user_id = \(user.user) AND people.user_id <> mine.user_id
                AND conversations.member_count <= \(ConversationStore<Executor>.readsLimit)
            ORDER BY people.joined_seq
            """,
            as: { try $0.string("user_id") }
        )
    }
}
