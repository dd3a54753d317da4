import EventBus
import Foundation
import Logging
import Metrics
import Postgres
import ServiceHost
import ServiceLifecycle

/// Gives each change its place among the others, and wakes those who listen, here and at the other instances.
///
/// It is done beside the requests that make the changes: nothing of them waits for it. What is noted is in the record, so a
/// ring that is lost, with its instance or on the bus, costs a second and nothing else.
final class ChangeLog: Service {
    private static let topic = "changes"
    /// How many changes are given their places at a time.
    private static let batch = 1_000
    /// How many are forgotten at a time.
    private static let sweepBatch = 5_000

    private let database: PostgresPool
    private let placing: ChangePlacing
    private let bus: any EventBus
    private let listeners: Listeners
    /// In seconds.
    private let retention: TimeInterval
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let rung: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private let placed = Counter(label: "roost_photos_changes_total")
    private let late = Counter(label: "roost_photos_missed_notifications_total")

    init(
        database: PostgresPool,
        bus: any EventBus,
        listeners: Listeners,
        retention: TimeInterval,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        placing = ChangePlacing(database: database)
        self.bus = bus
        self.listeners = listeners
        self.retention = retention
        self.logger = logger
        self.now = now
        (rung, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// There may be something new.
    func ring() { bell.yield() }

    /// Places what is noted, each time it is rung for.
    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            for await _ in rung {
                do {
                    try await place()
                } catch {
                    logger.warning("changes have no place yet", metadata: ["error": "\(error)"])
                    // What was rung for is still there; the look each second rings again.
                }
            }
        }
    }

    var upkeep: [any Service] {
        [
            self,
            Following(bus.subscribe(to: [Self.topic])) { [self] event in await hear(event) },
            Periodic("look for changes", every: .seconds(1), logger: logger, look),
            Periodic("sweep of changes", every: .seconds(15), logger: logger, sweep),
        ]
    }

    private func place() async throws {
        var count = Self.batch
        while count == Self.batch {
            let (marks, placed) = try await placing.place(limit: Self.batch)
            count = placed
            self.placed.increment(by: placed)
            for (application, place) in marks {
                listeners.wake(application, place)
                bus.publish("\(place) \(application)", on: Self.topic, replacing: application)
            }
        }
    }

    private func hear(_ event: EventBusEvent) async {
        switch event {
        case .message(_, let text):
            let parts = text.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let place = Int64(parts[0]) else { return }
            listeners.wake(String(parts[1]), place)
        case .missed:
            // Silence: the look each second comes anyway, and says what is wrong.
            try? await look()
        }
    }

    /// Finds what no ring told of.
    private func look() async throws {
        ring()
        let places = listeners.places
        guard !places.isEmpty else { return }
        let marks = try await ChangeStore(db: database.reads).marks(of: Array(places.keys))
        for (application, mark) in marks where listeners.wake(application, mark.place) { late.increment() }
    }

    private func sweep() async throws {
        let store = ChangeStore(db: database)
        let moment = now().addingTimeInterval(-retention)
        while try await store.delete(placedBefore: moment, limit: Self.sweepBatch) == Self.sweepBatch {}
    }
}

/// Follows what a bus says until the service is shut down.
private struct Following: Service {
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
