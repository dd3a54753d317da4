import ConversationsAPI
import Foundation
import Postgres
import Wire

extension BatchWriter {
    /// Moves marks forward, several of one member to the highest; each mark that moved takes a change number.
    ///
    /// A request that is not beyond the mark, or is beyond the last message, changes nothing and returns the current
    /// mark.
    static func mark(_ marks: [MarkWrite]) -> PostgresQuery {
        """
        WITH input AS MATERIALIZED (
            SELECT n, conversation_id, secret, application_id, user_id, up_to, before
            FROM unnest(
                \(marks.map(\.conversation.id.rawValue)), \(marks.map(\.conversation.secret)),
                \(marks.map(\.user.application)), \(marks.map(\.user.user)),
                \(marks.map(\.extent.seq)), \(marks.map(\.extent.date))
            ) WITH ORDINALITY AS mark (conversation_id, secret, application_id, user_id, up_to, before, n)
        ), found AS MATERIALIZED (
            SELECT input.n, input.conversation_id, input.user_id, heads.last_change, heads.last_user_seq,
                   members.read_seq, members.read_user_seq, members.read_change,
                   CASE
                       WHEN input.up_to <= heads.last_seq THEN input.up_to
                       WHEN input.before IS NOT NULL THEN coalesce((
                           SELECT messages.seq FROM messages
                           WHERE messages.conversation_id = input.conversation_id
                               AND messages.created_at < input.before
                           ORDER BY messages.created_at DESC, messages.seq DESC LIMIT 1
                       ), 0)
                       ELSE 0
                   END AS target
            FROM input
            JOIN heads ON heads.conversation_id = input.conversation_id
            JOIN conversations ON conversations.conversation_id = input.conversation_id
                AND conversations.secret = input.secret
            JOIN members ON members.conversation_id = input.conversation_id
                AND members.user_id = input.user_id AND members.application_id = input.application_id
        ), moving AS MATERIALIZED (
            SELECT highest.conversation_id, highest.user_id, highest.target, messages.user_seq,
                   highest.last_change + row_number() OVER (PARTITION BY highest.conversation_id ORDER BY first)
                       AS change
            FROM (
                SELECT conversation_id, user_id, last_change, max(target) AS target, min(n) AS first
                FROM found WHERE target > read_seq GROUP BY conversation_id, user_id, last_change
            ) AS highest
            JOIN messages ON messages.conversation_id = highest.conversation_id AND messages.seq = highest.target
        ), marked AS (
            UPDATE members SET read_seq = target, read_user_seq = user_seq, read_change = change
            FROM moving
            WHERE members.conversation_id = moving.conversation_id AND members.user_id = moving.user_id
        ), moved AS (
            UPDATE heads SET last_change = sums.change
            FROM (SELECT conversation_id, max(change) AS change FROM moving GROUP BY conversation_id) AS sums
            WHERE heads.conversation_id = sums.conversation_id
        )
        SELECT n, coalesce(target_now, read_seq) AS seq, coalesce(change, read_change) AS change,
               last_user_seq - coalesce(user_seq, read_user_seq) AS unread
        FROM found
        LEFT JOIN (SELECT conversation_id, user_id, target AS target_now, user_seq, change FROM moving) AS now_at
            USING (conversation_id, user_id)
        """
    }
}

extension MarkWrite.Extent {
    fileprivate var seq: Int64? { if case .upTo(let seq) = self { seq } else { nil } }
    fileprivate var date: Date? { if case .before(let date) = self { date } else { nil } }
}
