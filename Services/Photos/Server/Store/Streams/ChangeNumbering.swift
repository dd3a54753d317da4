import Foundation
import Postgres

/// Numbers pending changes, on a dedicated connection.
///
/// An advisory lock admits one transaction at a time. The second statement sees all that was committed while the first
/// waited. So a change that is committed late gets a later number, and none is skipped.
struct ChangeNumbering: Sendable {
    private let dedicatedConnection: DedicatedConnection

    init(database: PostgresPool, statementTimeout: Duration = .seconds(5)) {
        dedicatedConnection = database.dedicatedConnection(statementTimeout: statementTimeout)
    }

    /// Numbers at most `limit` changes; returns the last number of each application, and how many changes were
    /// numbered.
    func run(limit: Int) async throws -> (lastNumbers: [String: Int64], count: Int) {
        let rows = try await dedicatedConnection.segment([
            "SELECT pg_advisory_xact_lock(hashtext('roost photos changes'))",
            """
            WITH moment AS MATERIALIZED (
                SELECT date_trunc('milliseconds', clock_timestamp()) AS now
            ), moved AS (
                DELETE FROM pending_changes WHERE change_id = ANY (ARRAY(
                    SELECT change_id FROM pending_changes ORDER BY change_id LIMIT \(limit)
                ))
                RETURNING change_id, application_id, kind, author_id, number, comment_id
            ), counted AS MATERIALIZED (
                SELECT moved.*, row_number() OVER (PARTITION BY application_id ORDER BY change_id) AS n FROM moved
            ), sums AS (
                SELECT application_id, max(n) AS n FROM counted GROUP BY application_id
            ), updated_counters AS (
                INSERT INTO change_counters AS counters (application_id, last_change_number, last_at)
                SELECT sums.application_id, sums.n, moment.now FROM sums, moment
                ON CONFLICT (application_id) DO UPDATE
                SET last_change_number = counters.last_change_number + excluded.last_change_number,
                    last_at = excluded.last_at
                RETURNING application_id, last_change_number
            ), numbered AS (
                INSERT INTO changes (application_id, change_number, kind, author_id, number, comment_id, numbered_at)
                SELECT counted.application_id, updated_counters.last_change_number - sums.n + counted.n, counted.kind,
                       counted.author_id, counted.number, counted.comment_id, moment.now
                FROM counted
                JOIN sums ON sums.application_id = counted.application_id
                JOIN updated_counters ON updated_counters.application_id = counted.application_id
                CROSS JOIN moment
            )
            SELECT updated_counters.application_id, updated_counters.last_change_number, sums.n
            FROM updated_counters JOIN sums ON sums.application_id = updated_counters.application_id
            """,
        ])[1]
        var lastNumbers: [String: Int64] = [:]
        var count = 0
        for row in rows {
            lastNumbers[try row.string("application_id")] = try row.int64("last_change_number")
            count += try row.int("n")
        }
        return (lastNumbers, count)
    }
}
