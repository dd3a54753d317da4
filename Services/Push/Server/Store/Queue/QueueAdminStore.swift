import Foundation
import Postgres
import PushAPI
import Wire

struct QueueAdminStore<Executor: PostgresExecutor> {
    let db: Executor

    func queues() async throws -> [QueueReport.ProviderQueue] {
        try await db.all(
            """
            SELECT coalesce(waiting.application_id, circuits.application_id) AS application_id,
                   coalesce(waiting.service, circuits.service) AS service, coalesce(waiting.count, 0) AS count,
                   waiting.oldest, \(unsafe: Circuit.columns)
            FROM (
                SELECT application_id, service, count(*) AS count, min(created_at) AS oldest
                FROM queue GROUP BY application_id, service
            ) AS waiting
            FULL JOIN circuits
                ON circuits.application_id = waiting.application_id AND circuits.service = waiting.service
            ORDER BY 1, 2
            """,
            as: { row in
                QueueReport.ProviderQueue(
                    applicationId: try row.string("application_id"),
                    service: try row.string("service"),
                    waiting: try row.int("count"),
                    oldest: try row.optionalDate("oldest"),
                    circuit: try Circuit(row: row).map(QueueReport.Circuit.init)
                )
            }
        )
    }
}

extension QueueReport.Circuit {
    fileprivate init(_ circuit: Circuit) {
        self.init(
            isOpen: circuit.isOpen,
            reason: circuit.reason,
            failures: circuit.failures,
            openedAt: circuit.openedAt,
            retryAt: circuit.retryAt
        )
    }
}
