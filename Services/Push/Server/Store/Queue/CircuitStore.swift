import Foundation
import Postgres
import PushAPI

/// The table `circuits`: the circuit breakers of providers with failures.
struct CircuitStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns and locks the circuits of queues until the transaction ends.
    func lock(_ queues: [ProviderQueue]) async throws -> [ProviderQueue: Circuit] {
        let rows = try await db.all(
            """
            SELECT circuits.application_id, circuits.service, \(unsafe: Circuit.columns)
            FROM circuits
            WHERE (application_id, service) IN (
                SELECT application_id, service
                FROM unnest(\(queues.map(\.application)), \(queues.map(\.service))) AS queues (application_id, service)
            )
            ORDER BY application_id, service FOR UPDATE
            """,
            as: { row in
                (
                    ProviderQueue(application: try row.decode(at: 0), service: try row.decode(at: 1)),
                    try Circuit(row: row) ?? Circuit()
                )
            }
        )
        return Dictionary(uniqueKeysWithValues: rows)
    }

    func save(_ circuits: [(queue: ProviderQueue, circuit: Circuit)]) async throws {
        guard !circuits.isEmpty else { return }
        let circuits = circuits.sorted {
            ($0.queue.application, $0.queue.service) < ($1.queue.application, $1.queue.service)
        }
        try await db.run(
            """
            INSERT INTO circuits (
                application_id, service, is_open, reason, failures, openings, opened_at, retry_at, probe_until,
                resumed_at
            )
            SELECT application_id, service, is_open, reason, failures, openings, opened_at, retry_at, probe_until,
                   resumed_at
            FROM unnest(
                \(circuits.map(\.queue.application)), \(circuits.map(\.queue.service)),
                \(circuits.map(\.circuit.isOpen)), \(circuits.map(\.circuit.reason)),
                \(circuits.map(\.circuit.failures)),
                \(circuits.map(\.circuit.openings)), \(circuits.map(\.circuit.openedAt)),
                \(circuits.map(\.circuit.retryAt)), \(circuits.map(\.circuit.probeUntil)),
                \(circuits.map(\.circuit.resumedAt))
            ) AS rows (
                application_id, service, is_open, reason, failures, openings, opened_at, retry_at, probe_until,
                resumed_at
            )
            ON CONFLICT (application_id, service) DO UPDATE
            SET is_open = EXCLUDED.is_open, reason = EXCLUDED.reason, failures = EXCLUDED.failures,
                openings = EXCLUDED.openings, opened_at = EXCLUDED.opened_at, retry_at = EXCLUDED.retry_at,
                probe_until = EXCLUDED.probe_until, resumed_at = EXCLUDED.resumed_at
            """
        )
    }

    /// Claims the probe of a provider; returns false if it is too early or another instance has the probe.
    func probe(_ queue: ProviderQueue, at now: Date, until end: Date) async throws -> Bool {
        try await db.run(
            """
            UPDATE circuits SET probe_until = \(end)
            WHERE application_id = \(queue.application) AND service = \(queue.service) AND is_open
                AND (retry_at IS NULL OR retry_at <= \(now)) AND (probe_until IS NULL OR probe_until <= \(now))
            """
        ) == 1
    }

    func cancelProbe(_ queue: ProviderQueue) async throws {
        try await db.run(
            """
            UPDATE circuits SET probe_until = NULL
            WHERE application_id = \(queue.application) AND service = \(queue.service)
            """
        )
    }

    func countOpen() async throws -> Int {
        try await db.one("SELECT count(*) AS n FROM circuits WHERE is_open", as: { try $0.int("n") })
    }

    func prune(healthySince date: Date) async throws {
        try await db.run(
            """
            DELETE FROM circuits
            WHERE NOT is_open AND failures = 0 AND (resumed_at IS NULL OR resumed_at < \(date))
            """
        )
    }
}

extension Circuit {
    static let columns = """
        circuits.is_open, circuits.reason AS circuit_reason, circuits.failures, circuits.openings, circuits.opened_at,
        circuits.retry_at, circuits.probe_until, circuits.resumed_at
        """

    /// Returns nil if there is no row.
    init?(row: PostgresRow) throws {
        guard let isOpen = try row.optionalBool("is_open") else { return nil }
        self.init(
            isOpen: isOpen,
            reason: try row.optionalString("circuit_reason"),
            failures: try row.int("failures"),
            openings: try row.int("openings"),
            openedAt: try row.optionalDate("opened_at"),
            retryAt: try row.optionalDate("retry_at"),
            probeUntil: try row.optionalDate("probe_until"),
            resumedAt: try row.optionalDate("resumed_at")
        )
    }
}
