import AuthAPI
import Foundation
import Logging
import Metrics
import Postgres
import ServiceHost
import Wire

/// What is waited for when somebody was deleted: that every service which is told of it answers that nothing is left.
///
/// A request that was let in a moment before may write something a moment after. So people of Roost's own are asked about
/// twice: once at once, and once more when all have answered and nothing that was under way then can be still. A customer's
/// person may come back by the same name at once, and be wiped by the second time; of him the first is the last.
struct DeletionJobs: Sendable {
    let database: PostgresPool
    let events: EventOutbox
    /// Seconds that whatever was under way when somebody went may take to its end.
    let secondPassDelay: Int
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date
    private let waiting = Gauge(label: "roost_auth_deletions_pending")
    private let oldest = Gauge(label: "roost_auth_deletions_oldest_age_seconds")

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

    /// Tells the services, in the transaction in which somebody ceases to be; where nobody is told, there is no waiting.
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

    /// Has the services delete all data of an application, in the transaction that begins its deletion.
    ///
    /// The second round deletes what requests wrote that were running when the first began.
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

    /// An answer, in the transaction that notes its event.
    func recordCompletion(_ completion: UserDeletionCompleted, _ event: Event, in db: PostgresTransaction) async throws
    {
        try await DeletionJobStore(db: db).record(completionBy: completion.service, to: completion.deletionJob)
    }

    /// Starts the last round of each deletion that all services have answered, or ends the deletion.
    ///
    /// A deletion that fails delays no other.
    func advance() async throws {
        try await setAside.drain(
            .deletionJob,
            key: { [$0.deletionJob.id.uuidString] },
            next: { try await DeletionJobStore(db: $0).lockCompleted(at: now()) },
            advance(with:in:)
        )
        let lag = try await DeletionJobStore(db: database.reads).lag()
        waiting.record(lag.deletionJobs)
        oldest.record(lag.oldest.map { now().timeIntervalSince($0) } ?? 0)
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
            "services have wiped a deleted person",
            metadata: [
                "deletion_job": "\(done.deletionJob.id.wire)", "round": "\(done.deletionJob.round)",
                "seconds": "\(Int(now().timeIntervalSince(done.startedAt)))",
            ]
        )
    }

    /// The departures that wait longest, for the operator.
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
