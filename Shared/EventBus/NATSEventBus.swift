import Dispatch
public import Logging
import Metrics

/// A bus over NATS: for more instances and more messages than PostgreSQL's NOTIFY is comfortable with.
///
/// It connects by itself, whether a server is there or not, and again and again after a loss. Plain NATS and no JetStream:
/// a doorbell needs no memory.
public final class NATSEventBus: EventBus {
    /// A server takes 1 MB unless told otherwise; small ones keep a slow subscriber's buffer small.
    private static let maximumPayload = 32_768

    private let link: NATSLink
    private let name: String
    private let identity = EventBusIdentity.new()
    private let waiting: OutgoingMessages
    private let metrics = EventBusMetrics(kind: "nats")

    /// - Parameters:
    ///   - url: of one server or several of a cluster, comma-separated: `nats://user:password@host:4222`, `tls://…`.
    ///   - name: apart from other buses of the same server.
    ///   - logger: hears of connections that are lost.
    /// - Throws: ``NATSError`` for what is no such URL.
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
