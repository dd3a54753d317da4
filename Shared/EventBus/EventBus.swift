/// A channel for small messages between the instances of a program, without a guarantee of delivery.
///
/// A message can be lost, late or reordered. It is a hint to read data that is stored elsewhere. When a bus detects
/// that messages may have been lost, subscribers receive ``EventBusEvent/missed``. Subscribers poll occasionally to
/// find losses that the bus cannot detect.
///
/// ```swift
/// let bus: any EventBus = PostgresEventBus(pool: pool, name: "orders", logger: logger)
/// bus.publish("4711", on: "changed", replacing: "4711")
/// for await event in bus.subscribe(to: ["changed"]) {
///     switch event {
///     case .message(_, let order): await read(order)
///     case .missed: await readAll()
///     }
/// }
/// ```
///
/// No method blocks, and all queues are bounded by ``EventBusLimits``. Messages that exceed a limit are dropped, and
/// the other instances receive ``EventBusEvent/missed``.
public protocol EventBus: Sendable {
    /// Sends a message to all other instances that subscribe to the topic, but not to this instance.
    ///
    /// Queued messages are sent together in one payload. Messages are dropped if they are empty, longer than
    /// ``EventBusLimits/message``, or contain a line break or NUL.
    ///
    /// - Parameters:
    ///   - message: the text, 1 to 4,096 bytes of UTF-8.
    ///   - topic: one word of ASCII letters, digits, `_` and `-`.
    ///   - key: the subject of the message; the message replaces a queued message with the same key.
    func publish(_ message: String, on topic: String, replacing key: String?)

    /// Returns the messages that other instances publish on these topics, for as long as the sequence is iterated.
    func subscribe(to topics: [String]) -> EventSubscription

    /// Closes the connections; later messages are neither sent nor received.
    func shutdown() async
}

extension EventBus {
    /// Sends a message without a key; see ``publish(_:on:replacing:)``.
    public func publish(_ message: String, on topic: String) {
        publish(message, on: topic, replacing: nil)
    }

    /// Calls a closure for each event in order, until the task is cancelled or the bus is shut down.
    ///
    /// - Parameters:
    ///   - topics: the topics to subscribe to.
    ///   - body: receives the events; the next event waits until it returns.
    /// - Returns: the task that runs the closure; cancel it to end the subscription.
    @discardableResult
    public func subscribe(
        to topics: [String],
        _ body: @escaping @Sendable (EventBusEvent) async -> Void
    ) -> Task<Void, Never> {
        let subscription = subscribe(to: topics)
        return Task { for await event in subscription { await body(event) } }
    }
}

/// An event that a subscriber receives.
public enum EventBusEvent: Hashable, Sendable {
    /// A message that another instance published.
    case message(topic: String, text: String)

    /// Messages may have been missed.
    ///
    /// Delivered at the start, after a connection loss, after a publisher dropped messages, and after the subscriber
    /// was too slow. Later messages are received.
    case missed
}

/// The limits of a bus.
public enum EventBusLimits {
    /// The maximum length of a message in bytes.
    public static let message = 4_096
    /// The maximum number of messages that wait to be sent.
    public static let waitingMessages = 16_384
    /// The maximum size in bytes of the messages that wait to be sent.
    public static let waitingBytes = 1_048_576
    /// The maximum number of payloads that wait for a slow subscriber.
    public static let maximumUndelivered = 1_024
}
