import Foundation
import HTTPTypes
import Logging
import Metrics
import Postgres
import ServiceClient
import ServiceLifecycle
import Wire

/// Tells one subscriber what happened, until it has taken it.
///
/// Several may run at once, in as many instances: each claims its own events. A claim that its holder did not live to
/// settle ends by itself, and the event is told again; so it arrives at least once, and the subscriber's inbox makes that
/// once. While the subscriber does not answer, nothing is sent for up to five seconds. An event that is refused is retried
/// after longer each time, and later events of its key wait for it until it is set aside.
struct EventOutboxWorker: Service {
    private static let batch = 32
    /// How long a claim holds; longer than a batch takes.
    private static let claim = 15.0
    private static let timeout: Duration = .seconds(5)
    private static let pollInterval: Duration = .milliseconds(250)
    private static let lagInterval: Duration = .seconds(5)
    private static let retention: TimeInterval = 30 * 86_400

    private enum Outcome: Hashable, Sendable { case delivered, unavailable, refused }

    private let subscriber: String
    private let client: ServiceClient
    private let database: PostgresPool
    private let setAside: SetAside
    private let logger: Logger
    private let delivered: Counter
    private let failures: [Outcome: Counter]
    private let waiting: Gauge
    private let oldest: Gauge

    init(to subscriber: String, client: ServiceClient, database: PostgresPool, setAside: SetAside, logger: Logger) {
        self.subscriber = subscriber
        self.client = client
        self.database = database
        self.setAside = setAside
        self.logger = logger
        let dimensions = [("subscriber", subscriber)]
        delivered = Counter(label: "roost_events_delivered_total", dimensions: dimensions)
        failures = [
            .unavailable: Counter(label: "roost_events_failures_total", dimensions: dimensions + [("reason", "away")]),
            .refused: Counter(label: "roost_events_failures_total", dimensions: dimensions + [("reason", "refused")]),
        ]
        waiting = Gauge(label: "roost_events_pending", dimensions: dimensions)
        oldest = Gauge(label: "roost_events_oldest_age_seconds", dimensions: dimensions)
    }

    /// What keeps telling all subscribers, and gives up on what one of them has not taken for thirty days.
    static func all(
        to subscribers: EventSubscribers,
        database: PostgresPool,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) -> [any Service] {
        guard !subscribers.clients.isEmpty else { return [] }
        let workers = subscribers.clients.map {
            EventOutboxWorker(to: $0, client: $1, database: database, setAside: setAside, logger: logger)
        }
        // Apart from the telling: of very many events the count may take longer than a statement may.
        let lag = PeriodicTask("lag of events", every: lagInterval, logger: logger) {
            for worker in workers { try await worker.recordLag() }
        }
        let sweep = PeriodicTask("sweep of events", every: .seconds(600), logger: logger) {
            let store = EventOutboxStore(db: database)
            let lost = try await store.delete(writtenBefore: now().addingTimeInterval(-retention))
            if lost > 0 { logger.error("events given up", metadata: ["count": "\(lost)"]) }
        }
        return workers + [lag, sweep]
    }

    func run() async {
        var failedRounds = 0
        // A round that has begun is finished, so that no claim is left behind.
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            var pause = Self.pollInterval
            do {
                let outcomes = try await round()
                let isUnavailable = !outcomes.isEmpty && outcomes.allSatisfy { $0 == .unavailable }
                if isUnavailable, failedRounds == 0 {
                    logger.warning("nobody takes events", metadata: ["subscriber": "\(subscriber)"])
                } else if !outcomes.isEmpty, !isUnavailable, failedRounds > 0 {
                    logger.info("events are taken again", metadata: ["subscriber": "\(subscriber)"])
                }
                failedRounds = isUnavailable ? failedRounds + 1 : outcomes.isEmpty ? failedRounds : 0
                if isUnavailable { pause = .milliseconds(min(100 << min(failedRounds - 1, 6), 5_000)) }
                // Behind what was taken, the next of the same key may wait.
                if outcomes.contains(.delivered) { continue }
            } catch {
                logger.warning("events not told", metadata: ["subscriber": "\(subscriber)", "error": "\(error)"])
                pause = .seconds(1)
            }
            // Cut short at shutdown, which the condition above sees.
            await cancelWhenGracefulShutdown { [pause] in try? await Task.sleep(for: pause) }
        }
    }

    /// Claims what is due, tells it all at once, and notes what came of it.
    private func round() async throws -> [Outcome] {
        let (claimed, unreadable) = try await EventOutboxStore(db: database)
            .claim(for: subscriber, limit: Self.batch, seconds: Self.claim)
        try await setAside.failed(unreadable, of: .event)
        guard !claimed.isEmpty else { return [] }
        var refusals: [FailedRow] = []
        let outcomes = await withTaskGroup(of: (Int64, Outcome, code: String).self) { group in
            for one in claimed {
                group.addTask {
                    let (outcome, code) = await deliver(one.event)
                    return (one.row, outcome, code)
                }
            }
            return await group.reduce(into: [Outcome: [Int64]]()) { outcomes, result in
                outcomes[result.1, default: []].append(result.0)
                if result.1 == .refused { refusals.append(FailedRow(["\(result.0)"], .failing, detail: result.code)) }
            }
        }
        let store = EventOutboxStore(db: database)
        if let rows = outcomes[.delivered] { try await store.delete(rows) }
        if let rows = outcomes[.unavailable] { try await store.release(rows) }
        try await setAside.failed(refusals, of: .event)
        for (outcome, rows) in outcomes { (failures[outcome] ?? delivered).increment(by: rows.count) }
        return outcomes.flatMap { outcome, rows in rows.map { _ in outcome } }
    }

    private func deliver(_ event: Event) async -> (Outcome, code: String) {
        do {
            let body = try WireJSON.encoder().encode(event)
            _ = try await client.send(.post, "/internal/events", body: body, timeout: Self.timeout)
            return (.delivered, "")
        } catch let error as APIError where !error.isTransient {
            logger.error(
                "event refused",
                metadata: [
                    "subscriber": "\(subscriber)", "type": "\(event.type)", "event": "\(event.id)",
                    "code": "\(error.code)",
                ]
            )
            return (.refused, error.code)
        } catch {
            return (.unavailable, "")
        }
    }

    private func recordLag() async throws {
        let lag = try await EventOutboxStore(db: database.reads).lag(of: subscriber)
        waiting.record(lag.waiting)
        oldest.record(lag.oldest)
    }
}
