/// Notifications that arrive on some channels, over a connection of its own, for as long as it is iterated.
///
/// A notification is a hint, never the record: those sent while the connection was away are gone. So whoever listens
/// reads what it lacks from the tables at each ``Event/reconnected``, which also comes first of all, once the channels
/// are listened on.
public struct PostgresListener: AsyncSequence, Sendable {
    /// What a listener hears.
    public enum Event: Hashable, Sendable {
        /// `NOTIFY channel, 'payload'`, committed.
        case notification(channel: String, payload: String)

        /// The channels are listened on from now; notifications before may have been missed.
        ///
        /// Comes at the start, after the connection was lost, and when the reader was so slow that some were dropped.
        case reconnected
    }

    /// Hands out events one by one; ends when the pool is shut down.
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
