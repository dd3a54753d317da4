import Dispatch
public import Logging
import Metrics

/// An event bus over NATS, for more instances and messages than PostgreSQL's NOTIFY handles well.
///
/// The bus connects in the background, even if no server is available, and reconnects after each loss. It uses core
/// NATS without JetStream, because messages need no persistence.
public final class NATSEventBus: EventBus {
    /// The maximum payload in bytes, below the 1 MB of NATS; small payloads limit the buffer of a slow subscriber.
    private static let maximumPayload = 32_768

    private let link: NATSLink
    private let name: String
    private let identity = EventBusIdentity.new()
    private let waiting: OutgoingMessages
    private let metrics = EventBusMetrics(kind: "nats")

    /// Creates a bus and connects in the background.
    ///
    /// - Parameters:
    ///   - url: one server, or several servers of a cluster separated by commas: `nats://user:password@host:4222`,
    ///     `tls://…`.
    ///   - name: the prefix of the bus's subjects, distinct from other buses on the same server.
    ///   - logger: receives connection losses and errors.
    /// - Throws: a ``NATSError`` if the URL is invalid.
    public init(url: String, name: String, logger: Logger) throws {
        self.name = name
        let waiting = OutgoingMessages(sender: identity, metrics: metrics)
        self.waiting = waiting
        link = try NATSLink(url: url, name: name, metrics: metrics, logger: logger)
        link.start { [weak self] in
            if waiting.resume() { self?.send() }
        }
    }

    deinit {
        link.stop()
    }

    public func publish(_ message: String, on topic: String, replacing key: String?) {
        if waiting.add(message, on: topic, replacing: key) { send() }
    }

    private func send() {
        link.queue.async { [waiting, link, metrics, name] in
            while let payloads = waiting.take(maximumPayload: Self.maximumPayload) {
                for (index, payload) in payloads.enumerated() {
                    guard link.publish(payload.text, on: "\(name).\(payload.topic)") else {
                        return waiting.pause(dropping: Array(payloads[index...]))
                    }
                    metrics.sent.increment()
                }
            }
        }
    }

    public func subscribe(to topics: [String]) -> EventSubscription {
        EventSubscription(
            source: link.listen(Dictionary(topics.map { ("\(name).\($0)", $0) }) { first, _ in first }),
            subscriber: identity,
            metrics: metrics
        )
    }

    public func shutdown() async {
        waiting.close()
        await withCheckedContinuation { continuation in link.stop { continuation.resume() } }
    }
}
