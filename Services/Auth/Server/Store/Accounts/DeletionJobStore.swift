import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The tables `deletion_jobs` and `deletion_job_services`.
struct DeletionJobStore {
    /// The user id that stands for all users of a deleted application; a real id has at least one character.
    static let allUsers = ""

    let db: any PostgresExecutor

    struct Record: Sendable {
        var deletionJob: DeletionJob
        var user: User.ID
        var startedAt: Date
        var nextRoundAt: Date?

        /// Whether the application itself was deleted.
        var isOfApplication: Bool { user.user == DeletionJobStore.allUsers }
    }

    struct Lag: Sendable {
        var deletionJobs: Int
        var oldest: Date?
    }

    func insert(_ record: Record, awaiting services: [String]) async throws {
        try await db.run(
            """
            INSERT INTO deletion_jobs (deletion_id, application_id, user_id, started_at, round, next_round_at)
            VALUES (
                \(record.deletionJob.id), \(record.user.application), \(record.user.user), \(record.startedAt),
                \(record.deletionJob.round), \(record.nextRoundAt)
            )
            """
        )
        try await wait(for: services, record.deletionJob.id)
    }

    /// Locks the oldest deletion that all services have confirmed and whose next round is due, or that has no next
    /// round.
    ///
    /// Rows that other instances have locked are skipped.
    func lockCompleted(at now: Date) async throws -> Record? {
        try await db.first(
            """
            SELECT deletion_id, application_id, user_id, started_at, round, next_round_at FROM deletion_jobs
            WHERE (next_round_at IS NULL OR next_round_at <= \(now)) AND \(isDue: .deletionJob, at: now)
                AND NOT EXISTS (
                    SELECT FROM deletion_job_services
                    WHERE deletion_job_services.deletion_id = deletion_jobs.deletion_id
                )
            ORDER BY started_at
            LIMIT 1
            FOR UPDATE SKIP LOCKED
            """,
            as: Record.init(row:)
        )
    }

    func startNextRound(_ deletionJob: DeletionJob, awaiting services: [String]) async throws {
        try await db.run(
            """
            UPDATE deletion_jobs SET round = \(deletionJob.round), next_round_at = NULL
            WHERE deletion_id = \(deletionJob.id)
            """
        )
        try await wait(for: services, deletionJob.id)
    }

    /// Records a service's confirmation; a confirmation of an earlier round is ignored.
    func record(completionBy service: String, to deletionJob: DeletionJob) async throws {
        try await db.run(
            """
            DELETE FROM deletion_job_services USING deletion_jobs
            WHERE deletion_job_services.deletion_id = \(deletionJob.id) AND deletion_job_services.service = \(service)
                AND deletion_jobs.deletion_id = deletion_job_services.deletion_id
                AND deletion_jobs.round = \(deletionJob.round)
            """
        )
    }

    /// Returns whether a deletion of the application or of one of its users is pending.
    func isPending(_ application: String) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM deletion_jobs WHERE application_id = \(application)) AS is_pending"
        ) { try $0.bool("is_pending") }
    }

    func delete(_ id: UUID) async throws {
        try await db.run("DELETE FROM deletion_jobs WHERE deletion_id = \(id)")
    }

    func lag() async throws -> Lag {
        try await db.one("SELECT count(*) AS deletion_jobs, min(started_at) AS oldest FROM deletion_jobs") { row in
            Lag(deletionJobs: try row.int("deletion_jobs"), oldest: try row.optionalDate("oldest"))
        }
    }

    /// Returns the longest pending deletions, each with the services that have not confirmed.
    func list(limit: Int) async throws -> [PendingDeletion] {
        try await db.all(
            """
            SELECT deletion_id, started_at, round, ARRAY(
                SELECT service FROM deletion_job_services
                WHERE deletion_job_services.deletion_id = deletion_jobs.deletion_id ORDER BY service
            ) AS services
            FROM deletion_jobs
            ORDER BY started_at, deletion_id
            LIMIT \(limit)
            """
        ) { row in
            PendingDeletion(
                deletionId: try row.uuid("deletion_id").wire,
                startedAt: try row.date("started_at"),
                round: try row.int("round"),
                pendingServices: try row.decode("services", as: [String].self)
            )
        }
    }

    private func wait(for services: [String], _ id: UUID) async throws {
        try await db.run(
            """
            INSERT INTO deletion_job_services (deletion_id, service)
            SELECT \(id), service FROM unnest(\(services)) AS service
            """
        )
    }
}

extension SetAsideKind {
    static let deletionJob = SetAsideKind(
        "deletion_job",
        table: "deletion_jobs",
        key: ["deletion_id": "uuid"],
        dropping: .keep
    )
}

extension DeletionJobStore.Record {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            deletionJob: DeletionJob(id: try row.uuid("deletion_id"), round: try row.int("round")),
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            startedAt: try row.date("started_at"),
            nextRoundAt: try row.optionalDate("next_round_at")
        )
    }
}
