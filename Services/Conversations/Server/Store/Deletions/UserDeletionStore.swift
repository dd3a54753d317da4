import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The pending deletion of a user.
///
/// A user with the same id who signs up later is a different user, whose later data is kept.
struct UserDeletion: Sendable {
    let id: Int64
    let user: User.ID
    let deletedAt: Date
    /// The conversations that the user has yet to leave.
    let conversations: [Conversation.ID]
    /// The last conversation that was searched for the user's id.
    let searchedUpTo: Conversation.ID
}

/// The table `user_deletions`, and a deleted user's data in all other tables.
struct UserDeletionStore<Executor: PostgresExecutor> {
    let db: Executor

    /// The maximum difference between the clocks of services, in seconds.
    private static var leeway: Double { 5 }

    /// Deletes devices, blocks in both directions and profile data at once, and records the work that follows.
    ///
    /// When the event arrives late, data that a later user with the same id has created is kept.
    func insert(_ user: User.ID, at moment: Date) async throws {
        let moment = moment.addingTimeInterval(Self.leeway)
        for (table, time) in [("devices", "seen_at"), ("connected_devices", "connected_at"), ("blocks", "blocked_at")] {
            try await db.run(
                """
                DELETE FROM \(identifier: table)
                WHERE application_id = \(user.application) AND user_id = \(user.user)
                    AND \(identifier: time) <= \(moment)
                """
            )
        }
        try await db.run(
            """
            DELETE FROM blocks
            WHERE application_id = \(user.application) AND blocked_id = \(user.user) AND blocked_at <= \(moment)
            """
        )
        try await ProfileStore(db: db).delete(of: user, publishedBy: moment)
        // The user's joins need no events any longer.
        try await db.run(
            """
            UPDATE member_joins SET users = array_remove(users, \(user.user))
            WHERE application_id = \(user.application) AND \(user.user) = ANY (users) AND joined_at <= \(moment)
            """
        )
        try await db.run(
            """
            UPDATE users SET meta = NULL, last_seen_at = NULL
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """
        )
        // Also for a user without data here, because other users may have named them.
        try await db.run(
            """
            INSERT INTO user_deletions (application_id, user_id, deleted_at, conversations)
            SELECT \(user.application), \(user.user), \(moment), ARRAY(
                SELECT members.conversation_id FROM members
                JOIN conversations ON conversations.conversation_id = members.conversation_id
                WHERE members.application_id = \(user.application) AND members.user_id = \(user.user)
                    AND conversations.created_at <= \(moment)
                    -- A member who was not there from the beginning joined with the message at joined_seq.
                    AND NOT EXISTS (
                        SELECT FROM messages
                        WHERE messages.conversation_id = members.conversation_id AND messages.seq = members.joined_seq
                            AND messages.created_at > \(moment)
                    )
                ORDER BY members.conversation_id
            )
            """
        )
    }

    /// Returns the oldest deletion that is due.
    func next(at now: Date) async throws -> UserDeletion? {
        try await db.first(
            """
            SELECT deletion_id, application_id, user_id, deleted_at, conversations[1:100] AS conversations,
                   searched_up_to
            FROM user_deletions WHERE \(isDue: .deletionJob, at: now) ORDER BY deletion_id LIMIT 1
            """,
            as: { row in
                UserDeletion(
                    id: try row.int64("deletion_id"),
                    user: try User.ID(row: row),
                    deletedAt: try row.date("deleted_at"),
                    conversations: try row.decode("conversations", as: [Int64].self).map { Conversation.ID($0) },
                    searchedUpTo: try row.decode("searched_up_to")
                )
            }
        )
    }

    /// Records that the user has left a conversation.
    func record(left conversation: Conversation.ID, _ deletionJob: UserDeletion) async throws {
        try await db.run(
            """
            UPDATE user_deletions SET conversations = array_remove(conversations, \(conversation.rawValue))
            WHERE deletion_id = \(deletionJob.id)
            """
        )
    }

    func record(searchedUpTo conversation: Conversation.ID, _ deletionJob: UserDeletion) async throws {
        try await db.run(
            """
            UPDATE user_deletions SET searched_up_to = \(conversation) WHERE deletion_id = \(deletionJob.id)
            """
        )
    }

    /// Deletes the job, and the user's row unless a later user with the same id exists.
    func delete(_ deletionJob: UserDeletion) async throws {
        try await db.run("DELETE FROM user_deletions WHERE deletion_id = \(deletionJob.id)")
        let user = deletionJob.user
        // Events from photos and push may have arrived after the event that started the deletion.
        try await ProfileStore(db: db).delete(of: user, publishedBy: deletionJob.deletedAt)
        try await db.run(
            """
            DELETE FROM devices
            WHERE application_id = \(user.application) AND user_id = \(user.user)
                AND seen_at <= \(deletionJob.deletedAt)
            """
        )
        try await db.run(
            """
            DELETE FROM users WHERE application_id = \(user.application) AND user_id = \(user.user)
                AND NOT EXISTS (
                    SELECT FROM members
                    WHERE members.application_id = users.application_id AND members.user_id = users.user_id
                )
                AND NOT EXISTS (
                    SELECT FROM devices
                    WHERE devices.application_id = users.application_id AND devices.user_id = users.user_id
                )
            """
        )
    }

    /// Searches the next conversations for the user's id; returns matches and the last conversation searched, or nil at
    /// the end.
    func search(
        _ deletionJob: UserDeletion,
        limit: Int
    ) async throws -> (found: [Conversation.ID], upTo: Conversation.ID)? {
        let user = deletionJob.user
        let events = try Self.events(of: user.user)
        let rows = try await db.execute(
            """
            SELECT scanned.conversation_id, scanned.application_id = \(user.application) AND (
                scanned.creator_id = \(user.user) OR \(user.user) = ANY (scanned.white_list)
                OR EXISTS (
                    SELECT FROM messages
                    WHERE messages.conversation_id = scanned.conversation_id AND messages.sender_id = \(user.user)
                        AND messages.created_at <= \(deletionJob.deletedAt)
                )
                OR EXISTS (
                    SELECT FROM kicks
                    WHERE kicks.conversation_id = scanned.conversation_id AND kicks.user_id = \(user.user)
                )
                OR EXISTS (
                    SELECT FROM leaves
                    WHERE leaves.conversation_id = scanned.conversation_id AND leaves.user_id = \(user.user)
                )
                OR EXISTS (
                    SELECT FROM messages
                    WHERE messages.conversation_id = scanned.conversation_id AND mime = \(unsafe: Self.systemMime)
                        AND created_at <= \(deletionJob.deletedAt)
                        AND CASE WHEN sender_id IS NULL
                            THEN data = ANY (\(events)::text[]) OR data::jsonb -> 'whiteList' ? \(user.user)::text
                            ELSE false END
                )
            ) AS mentions_user
            FROM (
                SELECT conversation_id, application_id, creator_id, white_list FROM conversations
                WHERE conversation_id > \(deletionJob.searchedUpTo) ORDER BY conversation_id LIMIT \(limit)
            ) AS scanned
            ORDER BY scanned.conversation_id
            """
        )
        guard let last = rows.last else { return nil }
        let found: [Conversation.ID] = try rows.filter { try $0.optionalBool("mentions_user") ?? false }
            .map { try $0.decode("conversation_id") }
        return (found, upTo: try last.decode("conversation_id"))
    }

    /// Dissolves the pair of a direct conversation, and removes the block of the remaining user.
    ///
    /// Must run under the head's lock.
    func endDirect(_ conversation: Conversation.ID) async throws {
        try await db.run("DELETE FROM directs WHERE conversation_id = \(conversation)")
        try await db.run(
            "UPDATE members SET is_blocked = false WHERE conversation_id = \(conversation) AND is_blocked"
        )
    }

    /// Removes the user's id from the conversation's own data, and the user's reactions.
    ///
    /// Must run under the head's lock.
    func removeReferences(_ user: String, in conversation: Conversation.ID) async throws {
        try await db.run(
            """
            UPDATE conversations
            SET creator_id = CASE creator_id WHEN \(user) THEN '' ELSE creator_id END,
                white_list = array_remove(white_list, \(user))
            WHERE conversation_id = \(conversation)
                AND (creator_id = \(user) OR \(user) = ANY (white_list))
            """
        )
        for table in ["kicks", "leaves"] {
            try await db.run(
                "DELETE FROM \(identifier: table) WHERE conversation_id = \(conversation) AND user_id = \(user)"
            )
        }
        try await db.run(
            """
            WITH gone AS (
                DELETE FROM reactions WHERE conversation_id = \(conversation) AND user_id = \(user)
                RETURNING seq
            )
            UPDATE messages SET reaction_count = nullif(messages.reaction_count - sums.gone, 0)
            FROM (SELECT seq, count(*) AS gone FROM gone GROUP BY seq) AS sums
            WHERE messages.conversation_id = \(conversation) AND messages.seq = sums.seq
            """
        )
    }

    /// Removes the user's name from some of the messages that the user sent; returns their number.
    func anonymize(
        _ deletionJob: UserDeletion,
        messagesOf conversation: Conversation.ID,
        limit: Int
    ) async throws -> Int {
        try await db.run(
            """
            UPDATE messages SET sender_id = NULL, sender_number = NULL, client_message_id = NULL
            WHERE conversation_id = \(conversation) AND seq = ANY (ARRAY(
                SELECT seq FROM messages
                WHERE conversation_id = \(conversation) AND sender_id = \(deletionJob.user.user)
                    AND created_at <= \(deletionJob.deletedAt)
                LIMIT \(limit)
            ))
            """
        )
    }

    /// Returns the texts of system messages about a user.
    private static func events(of user: String) throws -> [String] {
        try [SystemEvent.joined(user), .left(user), .kicked(user)].map { try $0.data() }
    }

    /// A literal, because the partial index of system messages needs one.
    private static var systemMime: String { "'\(SystemEvent.mime)'" }

    /// Removes the user's name from system messages behind `seq`; returns the last `seq` covered, or nil at the end.
    func anonymize(
        _ deletionJob: UserDeletion,
        systemMessagesOf conversation: Conversation.ID,
        after seq: Int64,
        limit: Int64
    ) async throws -> Int64? {
        let user = deletionJob.user.user
        let (old, new) = (try Self.events(of: user), try Self.events(of: ""))
        try await db.run(
            """
            UPDATE messages
            SET data = coalesce(
                (\(new)::text[])[array_position(\(old)::text[], data)],
                jsonb_set(data::jsonb, '{whiteList}', (data::jsonb -> 'whiteList') - \(user)::text)::text
            )
            WHERE conversation_id = \(conversation) AND seq > \(seq) AND seq <= \(seq + limit)
                AND created_at <= \(deletionJob.deletedAt)
                AND CASE WHEN mime = \(unsafe: Self.systemMime) AND sender_id IS NULL
                    THEN data = ANY (\(old)::text[]) OR data::jsonb -> 'whiteList' ? \(user)::text ELSE false END
            """
        )
        let hasMore = try await db.first(
            "SELECT seq FROM messages WHERE conversation_id = \(conversation) AND seq > \(seq + limit) LIMIT 1",
            as: { _ in true }
        )
        return hasMore == nil ? nil : seq + limit
    }
}

extension SetAsideKind {
    /// A deleted user who is still to be removed from conversations.
    static let deletionJob = SetAsideKind(
        "deletion_job",
        table: "user_deletions",
        key: ["deletion_id": "bigint"],
        dropping: .keep
    )
}
