import DequeModule
import Metrics
import Postgres

/// The events that other instances publish on some topics; the sequence ends when the bus is shut down.
///
/// A slow subscriber does not delay others. It receives ``EventBusEvent/missed`` when its buffer of
/// ``EventBusLimits/maximumUndelivered`` payloads overflows.
public struct EventSubscription: AsyncSequence, Sendable {
    public typealias Element = EventBusEvent

    enum Received: Sendable {
        case payload(EventPayload)
        case missed
    }

    enum Source: Sendable {
        /// The PostgreSQL listener and the topic of each channel.
        case postgres(PostgresListener, topics: [String: String])
        /// The stream, and a function to call whenever the buffer has space again.
        case stream(AsyncStream<Received>, catchUp: @Sendable () -> Void)
    }

    let source: Source
    let subscriber: String
    let metrics: EventBusMetrics

    public func makeAsyncIterator() -> Iterator {
        switch source {
        case .postgres(let listener, let topics):
            Iterator(base: .postgres(listener.makeAsyncIterator(), topics), subscriber: subscriber, metrics: metrics)
        case .stream(let stream, let catchUp):
            Iterator(base: .stream(stream.makeAsyncIterator(), catchUp), subscriber: subscriber, metrics: metrics)
        }
    }

    /// The iterator of the events.
    public struct Iterator: AsyncIteratorProtocol {
        enum Base {
            case postgres(PostgresListener.Iterator, [String: String])
            case stream(AsyncStream<Received>.Iterator, @Sendable () -> Void)
        }

        var base: Base
        let subscriber: String
        let metrics: EventBusMetrics
        private var events: Deque<EventBusEvent> = []

        init(base: Base, subscriber: String, metrics: EventBusMetrics) {
            self.base = base
            self.subscriber = subscriber
            self.metrics = metrics
        }

        public mutating func next() async -> EventBusEvent? {
            await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> EventBusEvent? {
            while true {
                if let event = events.popFirst() {
                    if event == .missed { metrics.missed.increment() }
                    return event
                }
                guard let received = await receive(isolation: actor) else { return nil }
                switch received {
                case .missed: events.append(.missed)
                case .payload(let payload):
                    metrics.received.increment()
                    events.append(contentsOf: payload.events(receivedBy: subscriber))
                }
            }
        }

        private mutating func receive(isolation actor: isolated (any Actor)?) async -> Received? {
            switch base {
            case .postgres(var listener, let topics):
                let event = await listener.next(isolation: actor)
                base = .postgres(listener, topics)
                switch event {
                case .notification(let channel, let text):
                    return .payload(EventPayload(topic: topics[channel] ?? channel, text: text))
                case .reconnected: return .missed
                case nil: return nil
                }
            case .stream(var stream, let catchUp):
                let received = await stream.next(isolation: actor)
                base = .stream(stream, catchUp)
                catchUp()
                return received
            }
        }
    }
}
