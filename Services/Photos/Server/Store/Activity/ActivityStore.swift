import Foundation
import Postgres

/// The tables `activities` and `activity_groups`, as the code that records activity uses them.
struct ActivityStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Records activity, unless it is already recorded, the users are the same, or a block exists between them.
    ///
    /// The group's lock ensures that nothing is added to a round that is being delivered.
    func record(
        _ kind: PhotoActivity.Kind,
        of actor: Person.ID,
        to recipient: Person.ID,
        number: Int64 = 0,
        comment: Int64 = 0
    ) async throws {
        guard actor != recipient else { return }
        // Completing a round takes the same lock, so that the activities it deletes and new ones do not interleave.
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
            WITH inserted AS (
                INSERT INTO activities (recipient_id, kind, number, actor_id, comment_id, round, written_at)
                VALUES (
                    \(recipient), \(kind.rawValue), \(number), \(actor), \(comment), \(round), clock_timestamp()
                )
                ON CONFLICT DO NOTHING
                RETURNING recipient_id, kind, number
            )
            UPDATE activity_groups AS groups
            SET waiting_since = coalesce(groups.waiting_since, clock_timestamp()),
                -- The digest interval after the last round must pass; a group that already waits is not postponed.
                due_at = CASE WHEN groups.waiting_since IS NULL
                    THEN greatest(groups.due_at, clock_timestamp()) ELSE groups.due_at END
            FROM inserted
            WHERE groups.recipient_id = inserted.recipient_id AND groups.kind = inserted.kind
                AND groups.number = inserted.number
            """
        )
    }

    /// Returns the round in which a comment is delivered; nil if it is no longer stored.
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

    /// Deletes up to `limit` old likes and comments whose groups have nothing to deliver; returns how many.
    func delete(writtenBefore moment: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            WITH old AS (
                SELECT recipient_id, kind, number, actor_id, comment_id FROM activities
                WHERE kind <> 'follow' AND written_at < \(moment) ORDER BY written_at LIMIT \(limit)
            )
            DELETE FROM activities USING old, activity_groups
            WHERE activities.recipient_id = old.recipient_id AND activities.kind = old.kind
                AND activities.number = old.number
                AND activities.actor_id = old.actor_id AND activities.comment_id = old.comment_id
                AND activity_groups.recipient_id = activities.recipient_id AND activity_groups.kind = activities.kind
                AND activity_groups.number = activities.number AND activity_groups.waiting_since IS NULL
            """
        )
    }

    /// Drops activity that waits since before `moment`; returns the number of groups.
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
