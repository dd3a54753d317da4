import Foundation
import Postgres

/// The tables `news` and `news_groups`, as those see them who make the news.
struct NewsStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Notes it, unless it is known, he did it himself, or the two are kept apart.
    ///
    /// Under the group's lock, so that nothing is added to a round that is being told.
    func note(
        _ kind: PhotoNews.Kind,
        of actor: Person.ID,
        to recipient: Person.ID,
        number: Int64 = 0,
        comment: Int64 = 0
    ) async throws {
        guard actor != recipient else { return }
        try await db.run(
            """
            WITH grouped AS (
                INSERT INTO news_groups AS groups (recipient_id, kind, number, waiting_since, due_at)
                SELECT people.person_id, \(kind.rawValue), \(number), clock_timestamp(), clock_timestamp()
                FROM people
                WHERE people.person_id = \(recipient) AND \(unblocked: "people.person_id", by: actor)
                    AND NOT EXISTS (
                        SELECT FROM news
                        WHERE news.recipient_id = \(recipient) AND news.kind = \(kind.rawValue)
                            AND news.number = \(number) AND news.actor_id = \(actor) AND news.comment_id = \(comment)
                    )
                ON CONFLICT (recipient_id, kind, number) DO UPDATE
                SET waiting_since = coalesce(groups.waiting_since, excluded.waiting_since),
                    -- Not before the pause after the last round is over; what waits already is not put off.
                    due_at = CASE WHEN groups.waiting_since IS NULL
                        THEN greatest(groups.due_at, excluded.due_at) ELSE groups.due_at END
                RETURNING recipient_id, kind, number, collecting
            )
            INSERT INTO news (recipient_id, kind, number, actor_id, comment_id, round, written_at)
            SELECT recipient_id, kind, number, \(actor), \(comment), collecting, clock_timestamp() FROM grouped
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Forgets who has liked and commented, some of it, where nothing waits to be told; returns how many.
    func delete(writtenBefore moment: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            WITH old AS (
                SELECT recipient_id, kind, number, actor_id, comment_id FROM news
                WHERE kind <> 'follow' AND written_at < \(moment) ORDER BY written_at LIMIT \(limit)
            )
            DELETE FROM news USING old, news_groups
            WHERE news.recipient_id = old.recipient_id AND news.kind = old.kind AND news.number = old.number
                AND news.actor_id = old.actor_id AND news.comment_id = old.comment_id
                AND news_groups.recipient_id = news.recipient_id AND news_groups.kind = news.kind
                AND news_groups.number = news.number AND news_groups.waiting_since IS NULL
            """
        )
    }

    /// Gives up what push has not taken since `moment`; returns how many groups.
    func giveUp(waitingSince moment: Date) async throws -> Int {
        try await db.run(
            """
            UPDATE news_groups SET waiting_since = NULL, telling = NULL, collecting = collecting + 1
            WHERE waiting_since IS NOT NULL AND waiting_since < \(moment)
            """
        )
    }
}
