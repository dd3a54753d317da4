import Foundation
import Postgres

/// The tables `activities` and `activity_groups`, as those see them who record the activity.
struct ActivityStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Notes it, unless it is known, he did it himself, or the two are kept apart.
    ///
    /// Under the group's lock, so that nothing is added to a round that is being told.
    func record(
        _ kind: PhotoActivity.Kind,
        of actor: Person.ID,
        to recipient: Person.ID,
        number: Int64 = 0,
        comment: Int64 = 0
    ) async throws {
        guard actor != recipient else { return }
        // Whoever settles a round has this lock too: what he forgets, and what is new again, comes one after the other.
        let round = try await db.first(
            """
            INSERT INTO activity_groups AS groups (recipient_id, kind, number, due_at)
            SELECT people.person_id, \(kind.rawValue), \(number), clock_timestamp() FROM people
            WHERE people.person_id = \(recipient) AND \(unblocked: "people.person_id", by: actor)
            ON CONFLICT (recipient_id, kind, number) DO UPDATE SET due_at = groups.due_at
            RETURNING open_round
            """,
            as: { try $0.int64("open_round") }
        )
        guard let round else { return }
        try await db.run(
            """
            WITH noted AS (
                INSERT INTO activities (recipient_id, kind, number, actor_id, comment_id, round, written_at)
                VALUES (
                    \(recipient), \(kind.rawValue), \(number), \(actor), \(comment), \(round), clock_timestamp()
                )
                ON CONFLICT DO NOTHING
                RETURNING recipient_id, kind, number
            )
            UPDATE activity_groups AS groups
            SET waiting_since = coalesce(groups.waiting_since, clock_timestamp()),
                -- Not before the pause after the last round is over; what waits already is not put off.
                due_at = CASE WHEN groups.waiting_since IS NULL
                    THEN greatest(groups.due_at, clock_timestamp()) ELSE groups.due_at END
            FROM noted
            WHERE groups.recipient_id = noted.recipient_id AND groups.kind = noted.kind
                AND groups.number = noted.number
            """
        )
    }

    /// The round in which a comment is told; nil where that is not known any more.
    func round(of comment: CommentKey) async throws -> Int64? {
        try await db.first(
            """
            SELECT round FROM activities
            WHERE recipient_id = \(comment.post.author) AND kind = \(PhotoActivity.Kind.comment.rawValue)
                AND number = \(comment.post.number) AND comment_id = \(comment.number)
            """,
            as: { try $0.int64("round") }
        )
    }

    func application(of person: Person.ID) async throws -> String? {
        try await db.first(
            "SELECT application_id FROM people WHERE person_id = \(person)",
            as: { try $0.string("application_id") }
        )
    }

    /// Forgets who has liked and commented, some of it, where nothing waits to be told; returns how many.
    func delete(writtenBefore moment: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            WITH old AS (
                SELECT recipient_id, kind, number, actor_id, comment_id FROM activities
                WHERE kind <> 'follow' AND written_at < \(moment) ORDER BY written_at LIMIT \(limit)
            )
            DELETE FROM activities USING old, activity_groups
            WHERE activities.recipient_id = old.recipient_id AND activities.kind = old.kind AND activities.number = old.number
                AND activities.actor_id = old.actor_id AND activities.comment_id = old.comment_id
                AND activity_groups.recipient_id = activities.recipient_id AND activity_groups.kind = activities.kind
                AND activity_groups.number = activities.number AND activity_groups.waiting_since IS NULL
            """
        )
    }

    /// Gives up what push has not taken since `moment`; returns how many groups.
    func dropUndelivered(waitingSince moment: Date) async throws -> Int {
        try await db.run(
            """
            UPDATE activity_groups
            SET waiting_since = NULL, delivering_round = NULL, open_round = open_round + 1, claimed_by = NULL,
                claimed_until = NULL
            WHERE waiting_since IS NOT NULL AND waiting_since < \(moment)
            """
        )
    }
}
