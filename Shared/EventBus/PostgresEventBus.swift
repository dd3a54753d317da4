public import Logging
import Metrics
public import Postgres

/// A bus over PostgreSQL's LISTEN and NOTIFY: nothing more to run than the database that is there anyway.
///
/// Notifications take a lock of the whole database as they are committed, so they never ride in a transaction that writes:
/// they have a connection of their own, on which one statement at a time sends all that waits. A subscription has another;
/// neither may go through a pooler that hands connections around (pgbouncer's transaction mode).
public final class PostgresEventBus: EventBus {
    /// PostgreSQL takes payloads below 8,000 bytes.
    private static let maximumPayload = 7_900
    /// From one sending to the next: what comes in between travels together, and the server has little to do with it.
    private static let sendInterval = Duration.milliseconds(2)

    private let pool: PostgresPool
    private let dedicatedConnection: DedicatedConnection
    private let name: String
    private let identity = EventBusIdentity.new()
    private let logger: Logger
    private let waiting: OutgoingMessages
    private let metrics = EventBusMetrics(kind: "postgres")

    /// - Parameters:
    ///   - pool: the database. Its ``PostgresConfiguration/notificationBuffer`` says how slow a subscriber may be.
    ///   - name: apart from other buses of the same database: at most 48 bytes.
    ///   - logger: hears when nothing can be sent.
    public init(pool: PostgresPool, name: String, logger: Logger) {
        self.pool = pool
        self.name = name
        self.logger = logger
        // Nothing is written, so there is nothing to wait for on the disk.
        dedicatedConnection = pool.dedicatedConnection(
            statementTimeout: .seconds(2),
            settings: ["synchronous_commit": "off"]
        )
        waiting = OutgoingMessages(sender: identity, metrics: metrics)
    }

    public func publish(_ message: String, on topic: String, replacing key: String?) {
        // Detached: it is nobody's request that carries on.
        if waiting.add(message, on: topic, replacing: key) { Task.detached { await self.send() } }
    }

    public func subscribe(to topics: [String]) -> EventSubscription {
        let channels = Dictionary(topics.map { (channel($0), $0) }) { first, _ in first }
        return EventSubscription(
            source: .postgres(pool.listen(channels.keys.sorted()), topics: channels),
            subscriber: identity,
            metrics: metrics
        )
    }

    /// The pool is the caller's to shut down, and ends the subscriptions.
    public func shutdown() async {
        waiting.close()
    }

    private func channel(_ topic: String) -> String { "\(name).\(topic)" }

    /// Until nothing waits.
    private func send() async {
        var pause = Duration.milliseconds(50)
        while let payloads = waiting.take(maximumPayload: Self.maximumPayload) {
            let next = ContinuousClock.now + Self.sendInterval
            do {
                _ = try await dedicatedConnection.segment([
                    """
                    SELECT pg_notify(channel, payload)
                    FROM unnest(\(payloads.map { channel($0.topic) }), \(payloads.map(\.text)))
                        WITH ORDINALITY AS sent (channel, payload, n)
                    ORDER BY n
                    """
                ])
                metrics.sent.increment(by: payloads.count)
                metrics.connected.record(1)
                pause = .milliseconds(50)
                try? await ContinuousClock().sleep(until: next)
            } catch {
                if waiting.isClosed || (error as? PostgresError)?.kind == .shuttingDown { return waiting.close() }
                metrics.connected.record(0)
                if pause == .milliseconds(50) {
                    logger.warning("nothing can be notified", metadata: ["error": "\(error)"])
                }
                // They look for themselves, once they hear of it.
                waiting.drop(payloads)
                try? await ContinuousClock().sleep(for: pause)
                pause = min(pause * 2, .seconds(1))
            }
        }
    }
}

/// How a bus knows its own messages when they come back.
enum EventBusIdentity {
    static func new() -> String { String(UInt64.random(in: 1 << 60...(.max)), radix: 36) }
}
