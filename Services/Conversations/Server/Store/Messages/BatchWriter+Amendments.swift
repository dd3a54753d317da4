import ConversationsAPI
import Postgres
import Wire

extension BatchWriter {
    /// The maximum number of different emoji on a message.
    static let maximumEmoji = 20
    /// The maximum number of all reactions to a message.
    static let maximumReactions = 1_000

    /// Edits, deletes and reacts to messages, each message at most once; each change takes a change number.
    ///
    /// A message that is already in the requested state stays unchanged, so a batch with an unknown outcome may run
    /// again. A deleted message keeps its row, and so its `seq` for all members. It also keeps the client's id, so that
    /// a repeated draft is recognized.
    static func amend(_ amendments: [Amendment], recalledBy subscribers: [String] = []) -> PostgresQuery {
        """
        WITH input AS MATERIALIZED (
            SELECT n, conversation_id, secret, application_id, user_id, seq, action, data, meta, replaces_meta, emoji
            FROM unnest(
                \(amendments.map(\.conversation.id.rawValue)), \(amendments.map(\.conversation.secret)),
                \(amendments.map(\.user.application)), \(amendments.map(\.user.user)),
                \(amendments.map(\.message.seq)), \(amendments.map(\.action.name)),
                \(amendments.map(\.action.data)), \(amendments.map(\.action.meta)),
                \(amendments.map(\.action.replacesMeta)), \(amendments.map(\.action.emoji))
            ) WITH ORDINALITY AS amendment (
                conversation_id, secret, application_id, user_id, seq, action, data, meta, replaces_meta, emoji, n
            )
        ), found AS MATERIALIZED (
            SELECT input.n, input.conversation_id, input.application_id, input.user_id, input.seq, input.action,
                   input.data, input.meta, input.replaces_meta, input.emoji, heads.last_change,
                   CASE
                       WHEN messages.seq IS NULL THEN 'missing'
                       WHEN messages.mime = \(SystemEvent.mime) THEN 'system'
                       WHEN input.action IN ('edit', 'delete') AND messages.sender_id IS DISTINCT FROM input.user_id
                           AND NOT (input.action = 'delete' AND members.is_admin) THEN 'not_author'
                       WHEN members.is_blocked AND input.action IN ('edit', 'react') THEN 'blocked'
                       WHEN messages.deleted_at IS NOT NULL THEN
                           CASE WHEN input.action IN ('delete', 'unreact') THEN 'same' ELSE 'deleted' END
                       WHEN input.action = 'edit' AND messages.encoding = 'url' THEN 'file'
                       WHEN input.action = 'edit' AND messages.data = input.data
                           AND (NOT input.replaces_meta OR messages.meta IS NOT DISTINCT FROM input.meta) THEN 'same'
                       WHEN input.action IN ('react', 'unreact') AND (input.action = 'react') = EXISTS (
                           SELECT FROM reactions
                           WHERE reactions.conversation_id = input.conversation_id AND reactions.seq = input.seq
                               AND reactions.emoji = input.emoji AND reactions.user_id = input.user_id
                       ) THEN 'same'
                       WHEN input.action = 'react' AND messages.reaction_count > 0 AND (
                           messages.reaction_count >= \(maximumReactions) OR (
                               SELECT count(DISTINCT reactions.emoji) FROM reactions
                               WHERE reactions.conversation_id = input.conversation_id AND reactions.seq = input.seq
                                   AND reactions.emoji <> input.emoji
                           ) >= \(maximumEmoji)
                       ) THEN 'full'
                       ELSE 'done'
                   END AS outcome
            FROM input
            JOIN heads ON heads.conversation_id = input.conversation_id
            JOIN conversations ON conversations.conversation_id = input.conversation_id
                AND conversations.secret = input.secret
            JOIN members ON members.conversation_id = input.conversation_id
                AND members.user_id = input.user_id AND members.application_id = input.application_id
            LEFT JOIN messages ON messages.conversation_id = input.conversation_id AND messages.seq = input.seq
        ), changing AS MATERIALIZED (
            SELECT n, conversation_id, application_id, user_id, seq, action, data, meta, replaces_meta, emoji,
                   last_change + row_number() OVER (PARTITION BY conversation_id ORDER BY n) AS change,
                   date_trunc('milliseconds', clock_timestamp()) AS now
            FROM found WHERE outcome = 'done'
        ), amended AS (
            UPDATE messages
            SET change = changing.change,
                data = CASE action WHEN 'edit' THEN changing.data WHEN 'delete' THEN '' ELSE messages.data END,
                meta = CASE WHEN replaces_meta THEN changing.meta ELSE messages.meta END,
                push = CASE action WHEN 'delete' THEN NULL ELSE push END,
                edited_at = CASE action WHEN 'edit' THEN greatest(created_at, now) ELSE edited_at END,
                deleted_at = CASE action WHEN 'delete' THEN greatest(created_at, now) END,
                reaction_count = CASE action
                    WHEN 'react' THEN coalesce(reaction_count, 0) + 1
                    WHEN 'unreact' THEN nullif(reaction_count - 1, 0)
                    WHEN 'delete' THEN NULL
                    ELSE reaction_count
                END
            FROM changing
            WHERE messages.conversation_id = changing.conversation_id AND messages.seq = changing.seq
        ), reacted AS (
            INSERT INTO reactions (conversation_id, seq, emoji, user_id, change)
            SELECT conversation_id, seq, emoji, user_id, change FROM changing WHERE action = 'react'
        ), removed_reactions AS (
            DELETE FROM reactions USING changing
            WHERE reactions.conversation_id = changing.conversation_id AND reactions.seq = changing.seq
                AND (changing.action = 'delete' OR changing.action = 'unreact'
                    AND reactions.emoji = changing.emoji AND reactions.user_id = changing.user_id)
        ), moved AS (
            UPDATE heads SET last_change = sums.change
            FROM (SELECT conversation_id, max(change) AS change FROM changing GROUP BY conversation_id) AS sums
            WHERE heads.conversation_id = sums.conversation_id
        ), queued AS (
            INSERT INTO outbox (kind, conversation_id, from_seq, to_seq, written_at)
            SELECT 'message.deleted', conversation_id, seq, seq, now FROM changing WHERE action = 'delete'
        ), recalled AS (
            \(recalling: Self.recalled, for: subscribers)
        )
        SELECT n, outcome FROM found
        """
    }

    private static let recalled = """
        (
            SELECT application_id, conversation_id, seq, action = 'delete' AS is_deleted
            FROM changing WHERE action IN ('edit', 'delete')
        ) AS recalled_messages
        """

    /// Decodes a row of `amend`.
    static func amendment(_ row: PostgresRow) throws -> (index: Int, WriteOutcome) {
        let outcome: String = try row.decode(at: 1)
        return (try row.decode(at: 0) - 1, WriteRejection(rawValue: outcome).map(WriteOutcome.refused) ?? .amended)
    }
}

extension Amendment.Action {
    fileprivate var name: String {
        switch self {
        case .edit: "edit"
        case .delete: "delete"
        case .react: "react"
        case .unreact: "unreact"
        }
    }

    fileprivate var data: String? { if case .edit(let data, _, _) = self { data } else { nil } }
    fileprivate var meta: String? { if case .edit(_, let meta, _) = self { meta } else { nil } }

    /// Deletion removes the message's `meta` too.
    fileprivate var replacesMeta: Bool {
        switch self {
        case .edit(_, _, let replaces): replaces
        case .delete: true
        case .react, .unreact: false
        }
    }

    fileprivate var emoji: String? {
        switch self {
        case .edit, .delete: nil
        case .react(let emoji), .unreact(let emoji): emoji
        }
    }
}
