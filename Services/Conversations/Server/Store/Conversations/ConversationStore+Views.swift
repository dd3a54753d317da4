import ConversationsAPI
import Foundation
import Postgres
import Wire

/// Conversations as a user sees them: with the members, the newest message and the unread count.
extension ConversationStore {
    /// The maximum number of members with which `reads` are shown, and with which lists show members and admins.
    static var readsLimit: Int { 100 }

    /// Returns nil when the user cannot see the conversation; only members can, unless `evenAsNonMember` is true.
    func view(
        _ token: ConversationToken,
        for user: User.ID,
        evenAsNonMember: Bool = false
    ) async throws -> Conversation? {
        try await db.first(
            """
            SELECT \(unsafe: Self.columns)
            FROM conversations
            JOIN heads ON heads.conversation_id = conversations.conversation_id
            LEFT JOIN members AS mine ON mine.conversation_id = conversations.conversation_id
                AND mine.user_id = \(user.user) AND mine.application_id = \(user.application)
            \(unsafe: Self.lastMessageAndMembers(of: "TRUE"))
            WHERE conversations.conversation_id = \(token.id) AND conversations.secret = \(token.secret)
                AND conversations.application_id = \(user.application)
                AND (mine.user_id IS NOT NULL OR \(evenAsNonMember))
            """,
            as: Conversation.init(row:)
        )
    }

    /// Returns conversations as some of their members see them, for many members at once; other users' requests are
    /// left out.
    ///
    /// The members of conversations with more than 100 are left out, as in `page`.
    func views(
        _ input: [(conversation: Conversation.ID, user: String)],
        of application: String
    ) async throws -> [(user: String, conversation: Conversation)] {
        try await db.all(
            """
            SELECT \(unsafe: Self.columns), mine.user_id AS viewer_id
            FROM unnest(\(input.map(\.conversation.rawValue)), \(input.map(\.user)))
                AS input (conversation_id, user_id)
            JOIN conversations ON conversations.conversation_id = input.conversation_id
                AND conversations.application_id = \(application)
            JOIN heads ON heads.conversation_id = input.conversation_id
            JOIN members AS mine ON mine.conversation_id = input.conversation_id AND mine.user_id = input.user_id
            \(unsafe: Self.lastMessageAndMembers(of: "conversations.member_count <= \(Self.readsLimit)"))
            """,
            as: { (try $0.string("viewer_id"), try Conversation(row: $0)) }
        )
    }

    /// Returns the user's conversations, latest activity first, in their order when the first page was read.
    ///
    /// A conversation that has moved up since keeps its position, so it is neither skipped nor repeated. A message that
    /// was being committed at that time becomes visible later, and may change the past order within a few seconds.
    /// Therefore the cursor lists the `recent` conversations by id, and any other conversation of that time is returned
    /// late rather than never.
    func page(
        of user: User.ID,
        type: Conversation.Kind? = nil,
        after cursor: ConversationCursor?,
        limit: Int
    ) async throws -> [ListedConversation] {
        try await db.all(
            """
            WITH mine AS MATERIALIZED (
                SELECT members.conversation_id, members.user_id, members.read_user_seq, members.push_enabled,
                       heads.last_seq, heads.last_user_seq,
                       CASE WHEN heads.last_at > \(cursor?.asOf) THEN coalesce(
                           (SELECT messages.created_at FROM messages
                            WHERE messages.conversation_id = heads.conversation_id
                                AND messages.created_at <= \(cursor?.asOf)
                            ORDER BY messages.created_at DESC LIMIT 1),
                           (SELECT made.created_at FROM conversations AS made
                            WHERE made.conversation_id = heads.conversation_id AND made.created_at <= \(cursor?.asOf))
                       ) ELSE heads.last_at END AS active_at
                FROM members
                JOIN heads ON heads.conversation_id = members.conversation_id
                WHERE members.application_id = \(user.application) AND members.user_id = \(user.user)
                    AND (\(type?.rawValue)::text IS NULL OR (
                        SELECT conversations.type FROM conversations
                        WHERE conversations.conversation_id = members.conversation_id
                    ) = \(type?.rawValue))
            ), listed AS MATERIALIZED (
                SELECT conversation_id, user_id, read_user_seq, push_enabled, last_seq, last_user_seq, active_at
                FROM mine
                WHERE active_at IS NOT NULL AND (
                    \(cursor == nil)
                    OR (active_at, conversation_id) < (\(cursor?.at), \(cursor?.id))
                    OR active_at > \(cursor?.recent)
                ) AND conversation_id <> ALL (\((cursor?.given ?? []).map(\.rawValue)))
                ORDER BY active_at DESC, conversation_id DESC
                LIMIT \(limit)
            )
            SELECT \(unsafe: Self.columns), heads.active_at, clock_timestamp() AS now
            FROM listed AS heads
            JOIN listed AS mine ON mine.conversation_id = heads.conversation_id
            JOIN conversations ON conversations.conversation_id = heads.conversation_id
            \(unsafe: Self.lastMessageAndMembers(of: "conversations.member_count <= \(Self.readsLimit)"))
            ORDER BY heads.active_at DESC, heads.conversation_id DESC
            """,
            as: { row in
                ListedConversation(
                    conversation: try Conversation(row: row),
                    activeAt: try row.date("active_at"),
                    now: try row.date("now")
                )
            }
        )
    }

    /// The last message comes first, because its columns are read by index.
    private static var columns: String {
        """
        \(MessageRow.columns("last_message")),
        conversations.conversation_id, conversations.secret, conversations.label, conversations.type,
        conversations.white_list, conversations.join_by_token, conversations.meta AS conversation_meta,
        conversations.member_count,
        member_list.members, member_list.admins, member_list.readers, member_list.is_blocked_by_me, mine.push_enabled,
        heads.last_user_seq - mine.read_user_seq AS unread
        """
    }

    private static func lastMessageAndMembers(of condition: String) -> String {
        """
        LEFT JOIN messages AS last_message ON last_message.conversation_id = conversations.conversation_id
            AND last_message.seq = heads.last_seq
        LEFT JOIN LATERAL (
            SELECT array_agg(people.user_id ORDER BY people.joined_seq) AS members,
                   array_agg(people.user_id ORDER BY people.joined_seq) FILTER (WHERE people.is_admin) AS admins,
                   array_agg(people.user_id ORDER BY people.joined_seq)
                       FILTER (WHERE people.read_seq >= heads.last_seq) AS readers,
                   bool_or(people.is_blocked) FILTER (WHERE people.user_id <> mine.user_id) AS is_blocked_by_me
            FROM members AS people
            WHERE people.conversation_id = conversations.conversation_id AND \(condition)
        ) AS member_list ON TRUE
        """
    }
}

/// A conversation in a list, with the values that determine its position.
struct ListedConversation: Sendable {
    let conversation: Conversation
    let activeAt: Date
    /// The database's time when the page was read.
    let now: Date
}

extension Conversation {
    fileprivate init(row: PostgresRow) throws {
        let id: Conversation.ID = try row.decode("conversation_id")
        let isSmall = try row.int("member_count") <= ConversationStore<PostgresReads>.readsLimit
        let readers: [String]? = isSmall ? try row.decodeIfPresent("readers") ?? [] : nil
        let lastMessage = try MessageRow(row).map { $0.message(in: id) { _ in readers } }
        let members: [String]? = try row.decodeIfPresent("members")
        let hasMembers = try members != nil || row.int("member_count") == 0
        self.init(
            id: id,
            token: ConversationToken(id: id, secret: try row.string("secret")).description,
            label: try row.string("label"),
            type: Kind(rawValue: try row.string("type")) ?? .group,
            members: hasMembers ? members ?? [] : nil,
            admins: hasMembers ? try row.decodeIfPresent("admins") ?? [] : nil,
            whiteList: try row.decodeIfPresent("white_list"),
            joinByToken: try row.bool("join_by_token"),
            meta: try row.optionalString("conversation_meta").map(JSONValue.init(compact:)),
            pushEnabled: try row.optionalBool("push_enabled") ?? true,
            unreadCount: try row.optionalInt("unread") ?? 0,
            lastMessage: lastMessage,
            isBlockedByMe: try row.optionalBool("is_blocked_by_me") ?? false
        )
    }
}
