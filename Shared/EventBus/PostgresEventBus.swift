public import Logging
import Metrics
public import Postgres

/// An event bus over PostgreSQL's LISTEN and NOTIFY, which needs no server apart from the database.
///
/// A commit with notifications locks the whole database, so notifications are never part of a transaction that writes.
/// A dedicated connection sends all queued messages with one statement at a time. Each subscription has another
/// connection. Neither works through a pooler that shares connections (pgbouncer's transaction mode).
public final class PostgresEventBus: EventBus {
    /// The maximum payload in bytes; PostgreSQL's limit is below 8,000.
    private static let maximumPayload = 7_900
    /// The minimum time between two sends; messages in between are combined, which limits the server's load.
    private static let sendInterval = Duration.milliseconds(2)

    private let pool: PostgresPool
    private let dedicatedConnection: DedicatedConnection
    private let name: String
    private let identity = EventBusIdentity.new()
    private let logger: Logger
    private let waiting: OutgoingMessages
    private let metrics = EventBusMetrics(kind: "postgres")

    /// Creates a bus.
    ///
    /// - Parameters:
    ///   - pool: the database; its ``PostgresConfiguration/notificationBuffer`` limits the backlog of a slow
    ///     subscriber.
    ///   - name: the prefix of the bus's channels, distinct from other buses in the same database; at most 48 bytes.
    ///   - logger: receives failures to send.
    public init(pool: PostgresPool, name: String, logger: Logger) {
        self.pool = pool
        self.name = name
        self.logger = logger
        // NOTIFY writes no data, so there is no reason to wait for the disk.
        dedicatedConnection = pool.dedicatedConnection(
            statementTimeout: .seconds(2),
            settings: ["synchronous_commit": "off"]
        )
        waiting = OutgoingMessages(sender: identity, metrics: metrics)
    }

    public func publish(_ message: String, on topic: String, replacing key: String?) {
        // Detached: the send serves later messages too and does not belong to the request that starts it.
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

    /// Stops sending; the subscriptions end when the caller shuts down the pool.
    public func shutdown() async {
        waiting.close()
    }

    private func channel(_ topic: String) -> String { "\(name).\(topic)" }

    /// Sends batches until the queue is empty.
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
                    logger.warning("postgres notify failed", metadata: ["error": "\(error)"])
                }
                // Subscribers read the current state when they receive `.missed`.
                waiting.drop(payloads)
                try? await ContinuousClock().sleep(for: pause)
                pause = min(pause * 2, .seconds(1))
            }
        }
    }
}

/// The random identity by which an instance recognizes its own messages.
enum EventBusIdentity {
    static func new() -> String { String(UInt64.random(in: 1 << 60...(.max)), radix: 36) }
}
