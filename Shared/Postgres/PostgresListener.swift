/// The notifications of some channels, received on a dedicated connection for as long as the sequence is iterated.
///
/// Notifications are hints and can be lost: the server does not store those sent while the connection is down. A
/// subscriber therefore reads the current state from tables at each ``Event/reconnected``. The event is also the first
/// one, as soon as the channels are active.
public struct PostgresListener: AsyncSequence, Sendable {
    /// An event of a listener.
    public enum Event: Hashable, Sendable {
        /// A committed `NOTIFY channel, 'payload'`.
        case notification(channel: String, payload: String)

        /// The channels are active from now on; earlier notifications may have been missed.
        ///
        /// Delivered at the start, after a connection loss, and after the buffer of a slow subscriber overflowed.
        case reconnected
    }

    /// The iterator of the events; ends when the pool is shut down.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<Event>.Iterator

        public mutating func next() async -> Event? {
            await base.next()
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Event? {
            await base.next(isolation: actor)
        }
    }

    private let events: AsyncStream<Event>

    init(pool: PostgresPool, channels: [String]) {
        events = pool.engine.listen(channels)
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(base: events.makeAsyncIterator())
    }
}
