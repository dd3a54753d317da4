import Foundation
import Postgres

/// The table `outbox`: what was written and is to be handed on.
struct OutboxStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Removes the oldest that are older than `moment`; returns how many.
    func prune(before moment: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM outbox WHERE outbox_id IN (
                SELECT outbox_id FROM (
                    SELECT outbox_id, written_at FROM outbox ORDER BY outbox_id LIMIT \(limit)
                ) AS oldest
                WHERE written_at < \(moment)
            )
            """
        )
    }
}
