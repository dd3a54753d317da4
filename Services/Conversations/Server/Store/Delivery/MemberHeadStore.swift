import ConversationsAPI
import Foundation
import Postgres
import Wire

/// A conversation's latest change and `seq`, at a time when a user was a member.
struct ConversationHead: Hashable, Sendable {
    let conversation: Conversation.ID
    let change: Int64
    let seq: Int64
    /// The time of the latest activity; nil when it was not requested.
    var lastAt: Date?
}

/// The memberships and heads of conversations, as delivery queries them.
struct MemberHeadStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns a user's conversations behind `conversation`, ordered by id.
    func heads(of user: User.ID, after conversation: Conversation.ID, limit: Int) async throws -> [ConversationHead] {
        try await db.all(
            """
            SELECT heads.conversation_id, heads.last_change, heads.last_seq, heads.last_at
            FROM members JOIN heads ON heads.conversation_id = members.conversation_id
            WHERE members.application_id = \(user.application) AND members.user_id = \(user.user)
                AND members.conversation_id > \(conversation)
            ORDER BY members.conversation_id LIMIT \(limit)
            """,
            as: { row in
                var head = try ConversationHead(row: row)
                head.lastAt = try row.date("last_at")
                return head
            }
        )
    }

    /// Returns nil when the user is not a member.
    func head(of user: User.ID, in conversation: Conversation.ID) async throws -> ConversationHead? {
        try await db.first(
            """
            SELECT heads.conversation_id, heads.last_change, heads.last_seq
            FROM members JOIN heads ON heads.conversation_id = members.conversation_id
            WHERE members.conversation_id = \(conversation)
                AND members.application_id = \(user.application) AND members.user_id = \(user.user)
            """,
            as: ConversationHead.init(row:)
        )
    }

    /// Returns those of `users` who are members, each with the conversation's head right before the user joined.
    ///
    /// For a later member, `joined_seq` is the `seq` of the join message; for a member from the beginning there is
    /// none.
    func headsBeforeJoin(
        of users: [String],
        of application: String,
        in conversation: Conversation.ID
    ) async throws -> [(user: String, before: ConversationHead)] {
        try await db.all(
            """
            SELECT members.user_id, heads.conversation_id, coalesce(messages.change - 1, 0) AS last_change,
                   greatest(members.joined_seq - 1, 0) AS last_seq
            FROM members
            JOIN heads ON heads.conversation_id = members.conversation_id
            LEFT JOIN messages ON messages.conversation_id = members.conversation_id AND messages.seq = members.joined_seq
            WHERE members.conversation_id = \(conversation) AND members.application_id = \(application)
                AND members.user_id = ANY (\(users))
            """,
            as: { (try $0.string("user_id"), try ConversationHead(row: $0)) }
        )
    }

    /// Returns the heads of conversations right before the user joined, by conversation.
    func headsBeforeJoin(
        of user: User.ID,
        in conversations: [Conversation.ID]
    ) async throws -> [Conversation.ID: ConversationHead] {
        let heads = try await db.all(
            """
            SELECT heads.conversation_id, coalesce(messages.change - 1, 0) AS last_change,
                   greatest(members.joined_seq - 1, 0) AS last_seq
            FROM members
            JOIN heads ON heads.conversation_id = members.conversation_id
            LEFT JOIN messages ON messages.conversation_id = members.conversation_id AND messages.seq = members.joined_seq
            WHERE members.conversation_id = ANY (\(conversations.map(\.rawValue)))
                AND members.application_id = \(user.application) AND members.user_id = \(user.user)
            """,
            as: ConversationHead.init(row:)
        )
        return Dictionary(heads.map { ($0.conversation, $0) }) { first, _ in first }
    }

    /// Returns the conversations that are ahead of a delivered change, with the newest change; nil for a deleted
    /// conversation.
    func ahead(
        of delivered: [(conversation: Conversation.ID, change: Int64)]
    ) async throws -> [(Conversation.ID, Int64?)] {
        try await db.all(
            """
            SELECT delivered.conversation_id, heads.last_change
            FROM unnest(\(delivered.map(\.conversation.rawValue)), \(delivered.map(\.change)))
                AS delivered (conversation_id, change)
            LEFT JOIN heads ON heads.conversation_id = delivered.conversation_id
            WHERE heads.last_change IS DISTINCT FROM delivered.change
                AND coalesce(heads.last_change > delivered.change, TRUE)
            """,
            as: { (try $0.decode("conversation_id"), try $0.optionalInt64("last_change")) }
        )
    }

    /// Returns whether a user may send: nil when not a member, false when the other user of a direct conversation
    /// blocked them.
    func maySend(_ user: User.ID, in conversation: Conversation.ID) async throws -> Bool? {
        try await db.first(
            """
            SELECT is_blocked FROM members
            WHERE conversation_id = \(conversation) AND application_id = \(user.application) AND user_id = \(user.user)
            """,
            as: { try !$0.bool("is_blocked") }
        )
    }
}

extension ConversationHead {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            conversation: try row.decode("conversation_id"),
            change: try row.decode("last_change"),
            seq: try row.decode("last_seq")
        )
    }
}
