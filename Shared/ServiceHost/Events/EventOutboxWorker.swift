import Foundation
import HTTPTypes
import Logging
import Metrics
import Postgres
import ServiceClient
import ServiceLifecycle
import Wire

/// A worker that delivers events to one subscriber until the subscriber has processed them.
///
/// Several workers and instances can run at once; each claims its own events. The claim of a crashed worker expires and
/// the event is delivered again. Delivery is therefore at least once, and the subscriber's inbox makes it exactly once.
///
/// While the subscriber is unavailable, retries back off to at most 5 s. A rejected event is retried with growing
/// delays. Later events of its key wait until it is set aside.
struct EventOutboxWorker: Service {
    private static let batch = 32
    /// The duration of a claim in seconds, longer than a batch takes.
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

    /// Returns the workers of all subscribers, and a task that discards events that were not delivered within 30 days.
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
        // The lag is counted in its own task, because counting very many events can take longer than a statement may.
        let lag = PeriodicTask("event lag", every: lagInterval, logger: logger) {
            for worker in workers { try await worker.recordLag() }
        }
        let sweep = PeriodicTask("event outbox cleanup", every: .seconds(600), logger: logger) {
            let store = EventOutboxStore(db: database)
            let lost = try await store.delete(writtenBefore: now().addingTimeInterval(-retention))
            if lost > 0 { logger.error("undelivered events discarded", metadata: ["count": "\(lost)"]) }
        }
        return workers + [lag, sweep]
    }

    func run() async {
        var failedRounds = 0
        // A round that has started is completed, so that no claim is left.
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            var pause = Self.pollInterval
            do {
                let outcomes = try await round()
                let isUnavailable = !outcomes.isEmpty && outcomes.allSatisfy { $0 == .unavailable }
                if isUnavailable, failedRounds == 0 {
                    logger.warning("event subscriber unavailable", metadata: ["subscriber": "\(subscriber)"])
                } else if !outcomes.isEmpty, !isUnavailable, failedRounds > 0 {
                    logger.info("event subscriber available again", metadata: ["subscriber": "\(subscriber)"])
                }
                failedRounds = isUnavailable ? failedRounds + 1 : outcomes.isEmpty ? failedRounds : 0
                if isUnavailable { pause = .milliseconds(min(100 << min(failedRounds - 1, 6), 5_000)) }
                // The next event of a delivered event's key may be waiting.
                if outcomes.contains(.delivered) { continue }
            } catch {
                logger.warning("event delivery failed", metadata: ["subscriber": "\(subscriber)", "error": "\(error)"])
                pause = .seconds(1)
            }
            // A shutdown ends the sleep; the loop's condition then stops the worker.
            await cancelWhenGracefulShutdown { [pause] in try? await Task.sleep(for: pause) }
        }
    }

    /// Claims due events, delivers them concurrently and records the outcomes.
    private func round() async throws -> [Outcome] {
        let (claimed, unreadable) = try await EventOutboxStore(db: database)
            .claim(for: subscriber, limit: Self.batch, seconds: Self.claim)
        try await setAside.failed(unreadable, of: .event)
        guard !claimed.isEmpty else { return [] }
        var refusals: [FailedRow] = []
        let outcomes = await withTaskGroup(of: (Int64, Outcome, code: String).self) { group in
            for claim in claimed {
                group.addTask {
                    let (outcome, code) = await deliver(claim.event)
                    return (claim.row, outcome, code)
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
                "event rejected",
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
