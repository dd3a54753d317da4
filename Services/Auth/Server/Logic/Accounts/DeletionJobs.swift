import AuthAPI
import Foundation
import Logging
import Metrics
import Postgres
import ServiceHost
import Wire

/// The tracking of deletions until every service that receives the deletion event has confirmed that no data is left.
///
/// A request that was admitted just before the deletion may write data just after it. Services therefore delete a Roost
/// user's data twice: at once, and again after all confirmed and `secondPassDelay` passed. A customer's user may sign
/// in again under the same id at once, and a second pass would delete the new data. For such users there is only one
/// pass.
struct DeletionJobs: Sendable {
    let database: PostgresPool
    let events: EventOutbox
    /// Seconds after which every request that was running at the deletion has finished.
    let secondPassDelay: Int
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date
    private let pendingCount = Gauge(label: "roost_auth_deletions_pending")
    private let oldestAge = Gauge(label: "roost_auth_deletions_oldest_age_seconds")

    init(
        database: PostgresPool,
        events: EventOutbox,
        secondPassDelay: Int,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        self.events = events
        self.secondPassDelay = secondPassDelay
        self.setAside = setAside
        self.logger = logger
        self.now = now
    }

    /// Starts a user's deletion in the services, in the transaction that deletes the user.
    ///
    /// Without subscribers there is no job.
    func begin(_ user: User.ID, in db: any PostgresExecutor) async throws {
        let services = events.subscribers(of: UserDeleted.self)
        guard !services.isEmpty else { return }
        let record = DeletionJobStore.Record(
            deletionJob: DeletionJob(id: UUID(), round: 1),
            user: user,
            startedAt: now(),
            nextRoundAt: user.isRoostUser ? now().addingTimeInterval(TimeInterval(secondPassDelay)) : nil
        )
        try await DeletionJobStore(db: db).insert(record, awaiting: services)
        try await publish(record.deletionJob, user, in: db)
    }

    /// Starts the deletion of an application's data in the services, in the transaction that begins the deletion.
    ///
    /// The second round deletes data of requests that were running when the first round began.
    func begin(application: String, in db: any PostgresExecutor) async throws {
        let services = events.subscribers(of: ApplicationDeleted.self)
        guard !services.isEmpty else { return }
        let record = DeletionJobStore.Record(
            deletionJob: DeletionJob(id: UUID(), round: 1),
            user: User.ID(application: application, user: DeletionJobStore.allUsers),
            startedAt: now(),
            nextRoundAt: now().addingTimeInterval(TimeInterval(secondPassDelay))
        )
        try await DeletionJobStore(db: db).insert(record, awaiting: services)
        try await publish(record.deletionJob, record.user, in: db)
    }

    /// Records a service's confirmation, in the transaction that records its event.
    func recordCompletion(_ completion: UserDeletionCompleted, _ event: Event, in db: PostgresTransaction) async throws
    {
        try await DeletionJobStore(db: db).record(completionBy: completion.service, to: completion.deletionJob)
    }

    /// Starts the last round of each deletion that all services have confirmed, or completes the deletion.
    ///
    /// A deletion that fails does not delay others.
    func advance() async throws {
        try await setAside.drain(
            .deletionJob,
            key: { [$0.deletionJob.id.uuidString] },
            next: { try await DeletionJobStore(db: $0).lockCompleted(at: now()) },
            advance(with:in:)
        )
        let lag = try await DeletionJobStore(db: database.reads).lag()
        pendingCount.record(lag.deletionJobs)
        oldestAge.record(lag.oldest.map { now().timeIntervalSince($0) } ?? 0)
    }

    private func advance(with done: DeletionJobStore.Record, in db: PostgresTransaction) async throws {
        let store = DeletionJobStore(db: db)
        let services =
            done.isOfApplication
            ? events.subscribers(of: ApplicationDeleted.self) : events.subscribers(of: UserDeleted.self)
        if done.nextRoundAt != nil, !services.isEmpty {
            let next = DeletionJob(id: done.deletionJob.id, round: done.deletionJob.round + 1)
            try await store.startNextRound(next, awaiting: services)
            try await publish(next, done.user, in: db)
        } else {
            try await store.delete(done.deletionJob.id)
        }
        logger.info(
            "services confirmed a deletion round",
            metadata: [
                "deletion_job": "\(done.deletionJob.id.wire)", "round": "\(done.deletionJob.round)",
                "seconds": "\(Int(now().timeIntervalSince(done.startedAt)))",
            ]
        )
    }

    func list() async throws -> Page<PendingDeletion> {
        Page(try await DeletionJobStore(db: database.reads).list(limit: 100))
    }

    private func publish(_ deletionJob: DeletionJob, _ user: User.ID, in db: any PostgresExecutor) async throws {
        guard user.user != DeletionJobStore.allUsers else {
            let deleted = ApplicationDeleted(applicationId: user.application, deletionJob: deletionJob)
            return try await events.write(deleted, in: db)
        }
        let deleted = UserDeleted(applicationId: user.application, userId: user.user, deletionJob: deletionJob)
        try await events.write(deleted, in: db)
    }
}
