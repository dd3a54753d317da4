import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `conversations`: labels, settings and the rules for joining.
struct ConversationStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Inserts a conversation of existing users, in their order; the first is its creator, and the admin of a group.
    func insert(_ new: NewConversation) async throws -> ConversationToken {
        let id: Conversation.ID = try await db.one(
            """
            WITH made AS (
                INSERT INTO conversations (application_id, secret, type, label, meta, white_list, join_by_token,
                                           creator_id, member_count, created_at)
                VALUES (\(new.creator.application), \(new.secret), \(new.type.rawValue), \(new.label), \(new.meta),
                        \(new.whiteList), \(new.joinByToken), \(new.creator.user), \(new.members.count)::int4,
                        date_trunc('milliseconds', clock_timestamp()))
                RETURNING conversation_id, created_at
            ), head AS (
                INSERT INTO heads (conversation_id, last_seq, last_change, last_user_seq, last_at)
                SELECT conversation_id, 0, 0, 0, created_at FROM made
            ), joined AS (
                INSERT INTO members (conversation_id, application_id, user_id, user_number, joined_seq, is_admin)
                SELECT made.conversation_id, users.application_id, users.user_id, users.user_number,
                       listed.n - \(new.members.count), listed.n = 1 AND \(new.type == .group)
                FROM made
                CROSS JOIN unnest(\(new.members)) WITH ORDINALITY AS listed (user_id, n)
                JOIN users ON users.application_id = \(new.creator.application) AND users.user_id = listed.user_id
            )
            SELECT conversation_id FROM made
            """,
            as: { try $0.decode("conversation_id") }
        )
        return ConversationToken(id: id, secret: new.secret)
    }

    /// Returns the part of a conversation's token that is not its id; nil when the application has no such
    /// conversation.
    func secret(of conversation: Conversation.ID, in application: String) async throws -> String? {
        try await db.first(
            """
            SELECT secret FROM conversations
            WHERE conversation_id = \(conversation) AND application_id = \(application)
            """,
            as: { try $0.string("secret") }
        )
    }

    /// Returns the facts that decide about a user's request; nil when the token opens nothing in the user's
    /// application.
    func membership(_ token: ConversationToken, of user: User.ID) async throws -> MembershipStatus? {
        try await db.first(
            """
            SELECT conversations.creator_id, conversations.type, conversations.white_list,
                   conversations.join_by_token, conversations.member_count, members.is_admin, members.is_blocked,
                   EXISTS (
                       SELECT FROM kicks
                       WHERE kicks.conversation_id = conversations.conversation_id AND kicks.user_id = \(user.user)
                   ) AS was_kicked
            FROM conversations
            LEFT JOIN members ON members.conversation_id = conversations.conversation_id
                AND members.user_id = \(user.user)
            WHERE conversations.conversation_id = \(token.id) AND conversations.secret = \(token.secret)
                AND conversations.application_id = \(user.application)
            """,
            as: MembershipStatus.init(row:)
        )
    }

    func isDirect(_ conversation: Conversation.ID) async throws -> Bool {
        try await db.first(
            "SELECT type FROM conversations WHERE conversation_id = \(conversation)",
            as: { try $0.string("type") == Conversation.Kind.direct.rawValue }
        ) ?? false
    }

    func set(label: String, of conversation: Conversation.ID) async throws {
        try await db.run("UPDATE conversations SET label = \(label) WHERE conversation_id = \(conversation)")
    }

    func set(meta: String?, of conversation: Conversation.ID) async throws {
        try await db.run("UPDATE conversations SET meta = \(meta) WHERE conversation_id = \(conversation)")
    }

    func set(whiteList: [String]?, of conversation: Conversation.ID) async throws {
        try await db.run("UPDATE conversations SET white_list = \(whiteList) WHERE conversation_id = \(conversation)")
    }

    func set(secret: String, of conversation: Conversation.ID) async throws {
        try await db.run("UPDATE conversations SET secret = \(secret) WHERE conversation_id = \(conversation)")
    }
}

/// A conversation to insert.
struct NewConversation: Sendable {
    let creator: User.ID
    let secret: String
    let type: Conversation.Kind
    let label: String
    /// Compact JSON.
    let meta: String?
    let whiteList: [String]?
    let joinByToken: Bool
    /// The creator first, without duplicates.
    let members: [String]
}

/// The relation of a user to a conversation, as a member or not.
struct MembershipStatus: Sendable {
    let creator: String
    let isDirect: Bool
    let whiteList: [String]?
    let joinByToken: Bool
    let memberCount: Int
    /// Whether the other user of a direct conversation has blocked this user.
    let isBlocked: Bool
    /// Nil for a user outside of the conversation.
    let isAdmin: Bool?
    let wasKicked: Bool

    fileprivate init(row: PostgresRow) throws {
        creator = try row.string("creator_id")
        isDirect = try row.string("type") == Conversation.Kind.direct.rawValue
        isBlocked = try row.optionalBool("is_blocked") ?? false
        whiteList = try row.decodeIfPresent("white_list")
        joinByToken = try row.bool("join_by_token")
        memberCount = try row.int("member_count")
        isAdmin = try row.optionalBool("is_admin")
        wasKicked = try row.bool("was_kicked")
    }

    /// Returns whether `user` may join: the white list admits the user (kicked or not), or the token does.
    func admits(_ user: String, byToken: Bool) -> Bool {
        whiteList?.contains { $0.isExactly(user) } ?? true || byToken && joinByToken && !wasKicked
    }
}
