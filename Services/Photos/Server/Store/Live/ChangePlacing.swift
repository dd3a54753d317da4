import Foundation
import Postgres

/// Gives what was noted its place, in a connection of its own.
///
/// One at a time, whoever else does it: the second statement sees all that was committed while the first waited, so that a
/// change which comes late takes a later place, and none is skipped.
struct ChangePlacing: Sendable {
    private let lane: PostgresLane

    init(database: PostgresPool, statementTimeout: Duration = .seconds(5)) {
        lane = database.lane(statementTimeout: statementTimeout)
    }

    /// Places at most `limit`; returns how far each application has come by it, and how many there were.
    func place(limit: Int) async throws -> (marks: [String: Int64], count: Int) {
        let rows = try await lane.segment([
            "SELECT pg_advisory_xact_lock(hashtext('roost photos changes'))",
            """
            WITH moment AS MATERIALIZED (
                SELECT date_trunc('milliseconds', clock_timestamp()) AS now
            ), moved AS (
                DELETE FROM noted_changes WHERE change_id = ANY (ARRAY(
                    SELECT change_id FROM noted_changes ORDER BY change_id LIMIT \(limit)
                ))
                RETURNING change_id, application_id, kind, author_id, number, comment_id
            ), counted AS MATERIALIZED (
                SELECT moved.*, row_number() OVER (PARTITION BY application_id ORDER BY change_id) AS n FROM moved
            ), sums AS (
                SELECT application_id, max(n) AS n FROM counted GROUP BY application_id
            ), marked AS (
                INSERT INTO change_marks AS marks (application_id, last_place, last_at)
                SELECT sums.application_id, sums.n, moment.now FROM sums, moment
                ON CONFLICT (application_id) DO UPDATE
                SET last_place = marks.last_place + excluded.last_place, last_at = excluded.last_at
                RETURNING application_id, last_place
            ), placed AS (
                INSERT INTO changes (application_id, place, kind, author_id, number, comment_id, placed_at)
                SELECT counted.application_id, marked.last_place - sums.n + counted.n, counted.kind,
                       counted.author_id, counted.number, counted.comment_id, moment.now
                FROM counted
                JOIN sums ON sums.application_id = counted.application_id
                JOIN marked ON marked.application_id = counted.application_id
                CROSS JOIN moment
            )
            SELECT marked.application_id, marked.last_place, sums.n
            FROM marked JOIN sums ON sums.application_id = marked.application_id
            """,
        ])[1]
        var marks: [String: Int64] = [:]
        var count = 0
        for row in rows {
            marks[try row.string("application_id")] = try row.int64("last_place")
            count += try row.int("n")
        }
        return (marks, count)
    }
}
