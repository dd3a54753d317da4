import ConversationsAPI
import Foundation
import Postgres
import Wire

/// A conversation that somebody is in, and how far it had come at a moment when he was.
struct ConversationHead: Hashable, Sendable {
    let conversation: Conversation.ID
    let change: Int64
    let seq: Int64
    /// When the conversation was last active; nil where it was not asked for.
    var lastAt: Date?
}

/// Who is where, as delivery asks it.
struct MemberHeadStore<Executor: PostgresExecutor> {
    let db: Executor

    /// All conversations of a user, in the order of their ids, behind one.
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

    /// Nil: he is not in it.
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

    /// Those of some users who are in a conversation, each with what was there right before he came.
    ///
    /// Who came later has the `seq` of the message that says so; who was there from the beginning has none.
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

    /// What was in some conversations right before the user became a member, by conversation; as `arrivals`.
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

    /// Of these conversations those in which more has happened than is known, with the newest change; nil: it is gone.
    func ahead(of known: [(conversation: Conversation.ID, change: Int64)]) async throws -> [(Conversation.ID, Int64?)] {
        try await db.all(
            """
            SELECT known.conversation_id, heads.last_change
            FROM unnest(\(known.map(\.conversation.rawValue)), \(known.map(\.change))) AS known (conversation_id, change)
            LEFT JOIN heads ON heads.conversation_id = known.conversation_id
            WHERE heads.last_change IS DISTINCT FROM known.change
                AND coalesce(heads.last_change > known.change, TRUE)
            """,
            as: { (try $0.decode("conversation_id"), try $0.optionalInt64("last_change")) }
        )
    }

    /// Whether a user may be heard there: nil where he is not in it, false where the other one of the two has blocked him.
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
