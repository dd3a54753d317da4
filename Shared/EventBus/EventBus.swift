/// Carries small messages between the instances of a program, as a doorbell does: at once, and without a promise.
///
/// A message may be lost, come late, or be overtaken by another; what it speaks of must be somewhere else, to be read by
/// whoever hears it. When a bus knows that it may have missed something it says so (``EventBusEvent/missed``); what it
/// does not know of, only looking now and then will find.
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
/// Nothing here waits, and nothing grows without end: what cannot be sent is dropped, and the others are told that they
/// have missed something.
public protocol EventBus: Sendable {
    /// Sends a message to everybody else who has subscribed to the topic; not to oneself.
    ///
    /// Messages that wait for one another travel together. Those that are too long (``EventBusLimits/message``), empty,
    /// or have a line break or NUL in them, are dropped.
    ///
    /// - Parameters:
    ///   - message: the text.
    ///   - topic: one word of letters, digits, `_` and `-`.
    ///   - key: what the message is about: it takes the place of one about the same that was not sent yet.
    func publish(_ message: String, on topic: String, replacing key: String?)

    /// Everything that others publish on these topics, for as long as it is iterated.
    func subscribe(to topics: [String]) -> EventSubscription

    /// Lets go of the connections; nothing is sent or heard any more.
    func shutdown() async
}

extension EventBus {
    /// Sends a message; see ``publish(_:on:replacing:)``.
    public func publish(_ message: String, on topic: String) {
        publish(message, on: topic, replacing: nil)
    }

    /// Calls back, one event after another, until the task is cancelled or the bus shut down.
    @discardableResult
    public func subscribe(
        to topics: [String],
        _ body: @escaping @Sendable (EventBusEvent) async -> Void
    ) -> Task<Void, Never> {
        let subscription = subscribe(to: topics)
        return Task { for await event in subscription { await body(event) } }
    }
}

/// What a subscriber hears.
public enum EventBusEvent: Hashable, Sendable {
    case message(topic: String, text: String)

    /// Something may have been missed: at the start, after a connection was lost, when somebody had too much to say, and
    /// when the subscriber was too slow.
    ///
    /// What is published once this was heard is heard.
    case missed
}

/// How much a bus takes.
public enum EventBusLimits {
    /// Bytes of one message.
    public static let message = 4_096
    /// Messages that wait to be sent.
    public static let waitingMessages = 16_384
    /// Bytes of those.
    public static let waitingBytes = 1_048_576
    /// Payloads that wait for a slow subscriber.
    public static let maximumUndelivered = 1_024
}
