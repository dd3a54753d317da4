import EventBus
import Foundation
import Logging
import Metrics
import Postgres
import ServiceHost
import ServiceLifecycle

/// Assigns numbers to recorded changes, and wakes the subscribers of this and other instances.
///
/// Numbering runs outside the requests that make the changes, so that they do not wait for it. The changes themselves
/// are in the database, so a lost change notification delays them by one second and loses nothing.
final class ChangeLog: Service {
    private static let topic = "changes"
    private static let batch = 1_000
    private static let deletionBatch = 5_000

    private let database: PostgresPool
    private let numbering: ChangeNumbering
    private let bus: any EventBus
    private let subscribers: StreamSubscribers
    private let retention: TimeInterval
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let wakeSignals: AsyncStream<Void>
    private let wakeSignal: AsyncStream<Void>.Continuation
    private let numbered = Counter(label: "roost_photos_changes_total")
    private let missedNotifications = Counter(label: "roost_photos_missed_notifications_total")

    init(
        database: PostgresPool,
        bus: any EventBus,
        subscribers: StreamSubscribers,
        retention: TimeInterval,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        numbering = ChangeNumbering(database: database)
        self.bus = bus
        self.subscribers = subscribers
        self.retention = retention
        self.logger = logger
        self.now = now
        (wakeSignals, wakeSignal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func notify() { wakeSignal.yield() }

    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            for await _ in wakeSignals {
                do {
                    try await numberPending()
                } catch {
                    logger.warning("changes could not be numbered", metadata: ["error": "\(error)"])
                    // The changes are still pending; the poll signals again within a second.
                }
            }
        }
    }

    var maintenance: [any Service] {
        [
            self,
            BusSubscriber(bus.subscribe(to: [Self.topic])) { [self] event in await handle(event) },
            PeriodicTask("poll for changes", every: .seconds(1), logger: logger, poll),
            PeriodicTask("retention of changes", every: .seconds(15), logger: logger, deleteExpired),
        ]
    }

    private func numberPending() async throws {
        var count = Self.batch
        while count == Self.batch {
            let (lastNumbers, numbered) = try await numbering.run(limit: Self.batch)
            count = numbered
            self.numbered.increment(by: numbered)
            for (application, changeNumber) in lastNumbers {
                subscribers.wake(application, changeNumber)
                bus.publish("\(changeNumber) \(application)", on: Self.topic, replacing: application)
            }
        }
    }

    private func handle(_ event: EventBusEvent) async {
        switch event {
        case .message(_, let text):
            let parts = text.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let changeNumber = Int64(parts[0]) else { return }
            subscribers.wake(String(parts[1]), changeNumber)
        case .missed:
            // An error is ignored here, because the poll of the next second repeats the read and reports the error.
            try? await poll()
        }
    }

    /// Finds changes whose notification was lost.
    private func poll() async throws {
        notify()
        let changeNumbers = subscribers.changeNumbers
        guard !changeNumbers.isEmpty else { return }
        let lastEventIDs = try await ChangeStore(db: database.reads).lastEventIDs(of: Array(changeNumbers.keys))
        for (application, eventID) in lastEventIDs where subscribers.wake(application, eventID.changeNumber) {
            missedNotifications.increment()
        }
    }

    private func deleteExpired() async throws {
        let store = ChangeStore(db: database)
        let moment = now().addingTimeInterval(-retention)
        while try await store.delete(numberedBefore: moment, limit: Self.deletionBatch) == Self.deletionBatch {}
    }
}

private struct BusSubscriber: Service {
    private let events: EventSubscription
    private let body: @Sendable (EventBusEvent) async -> Void

    init(_ events: EventSubscription, _ body: @escaping @Sendable (EventBusEvent) async -> Void) {
        self.events = events
        self.body = body
    }

    func run() async {
        await cancelWhenGracefulShutdown { for await event in events { await body(event) } }
    }
}
