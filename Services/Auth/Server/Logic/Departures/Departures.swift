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
struct Departures: Sendable {
    let database: PostgresPool
    let events: EventOutbox
    /// Seconds that whatever was under way when somebody went may take to its end.
    let settling: Int
    let setAside: SetAside
    let logger: Logger
    let now: @Sendable () -> Date
    private let waiting = Gauge(label: "roost_auth_deletions_pending")
    private let oldest = Gauge(label: "roost_auth_deletions_oldest_age_seconds")

    init(
        database: PostgresPool,
        events: EventOutbox,
        settling: Int,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        self.events = events
        self.settling = settling
        self.setAside = setAside
        self.logger = logger
        self.now = now
    }

    /// Tells the services, in the transaction in which somebody ceases to be; where nobody is told, there is no waiting.
    func begin(_ user: User.ID, in db: any PostgresExecutor) async throws {
        let services = events.subscribers(of: UserDeleted.self)
        guard !services.isEmpty else { return }
        let record = DepartureStore.Record(
            departure: Departure(id: UUID(), round: 1),
            user: user,
            begunAt: now(),
            nextRoundAt: user.isRoosts ? now().addingTimeInterval(TimeInterval(settling)) : nil
        )
        try await DepartureStore(db: db).insert(record, awaiting: services)
        try await tell(record.departure, user, in: db)
    }

    /// Has the services delete all data of an application, in the transaction that begins its deletion.
    ///
    /// The second round deletes what requests wrote that were running when the first began.
    func begin(application: String, in db: any PostgresExecutor) async throws {
        let services = events.subscribers(of: ApplicationDeleted.self)
        guard !services.isEmpty else { return }
        let record = DepartureStore.Record(
            departure: Departure(id: UUID(), round: 1),
            user: User.ID(application: application, user: DepartureStore.everyUser),
            begunAt: now(),
            nextRoundAt: now().addingTimeInterval(TimeInterval(settling))
        )
        try await DepartureStore(db: db).insert(record, awaiting: services)
        try await tell(record.departure, record.user, in: db)
    }

    /// An answer, in the transaction that notes its event.
    func take(_ erased: UserErased, _ event: Event, in db: PostgresTransaction) async throws {
        try await DepartureStore(db: db).note(answerOf: erased.service, to: erased.departure)
    }

    /// Starts the last round of each deletion that all services have answered, or ends the deletion.
    ///
    /// A deletion that fails delays no other.
    func goOn() async throws {
        try await setAside.drain(
            .departure,
            key: { [$0.departure.id.uuidString] },
            next: { try await DepartureStore(db: $0).lockAnswered(at: now()) },
            goOn(with:in:)
        )
        let lag = try await DepartureStore(db: database.reads).lag()
        waiting.record(lag.departures)
        oldest.record(lag.oldest.map { now().timeIntervalSince($0) } ?? 0)
    }

    private func goOn(with done: DepartureStore.Record, in db: PostgresTransaction) async throws {
        let store = DepartureStore(db: db)
        let services =
            done.isOfApplication
            ? events.subscribers(of: ApplicationDeleted.self) : events.subscribers(of: UserDeleted.self)
        if done.nextRoundAt != nil, !services.isEmpty {
            let next = Departure(id: done.departure.id, round: done.departure.round + 1)
            try await store.askAgain(next, awaiting: services)
            try await tell(next, done.user, in: db)
        } else {
            try await store.delete(done.departure.id)
        }
        logger.info(
            "services have wiped a deleted person",
            metadata: [
                "deletion_job": "\(done.departure.id.wire)", "round": "\(done.departure.round)",
                "seconds": "\(Int(now().timeIntervalSince(done.begunAt)))",
            ]
        )
    }

    /// The departures that wait longest, for the operator.
    func list() async throws -> Page<PendingDeparture> {
        Page(try await DepartureStore(db: database.reads).list(limit: 100))
    }

    private func tell(_ departure: Departure, _ user: User.ID, in db: any PostgresExecutor) async throws {
        guard user.user != DepartureStore.everyUser else {
            let deleted = ApplicationDeleted(applicationId: user.application, departure: departure)
            return try await events.write(deleted, in: db)
        }
        let deleted = UserDeleted(applicationId: user.application, userId: user.user, departure: departure)
        try await events.write(deleted, in: db)
    }
}
