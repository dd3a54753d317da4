import NIOCore

/// How a pool of connections to one origin behaves.
struct PoolSettings: Sendable {
    /// How many connections there may be.
    var connections = 4
    /// How many requests one connection has under way before another is opened.
    var spread = 100
    /// How many requests one connection of HTTP/2 may have under way, if the other side allows it.
    var streams = 1_000
    /// How many requests may wait for a connection with room.
    var waiting = 20_000
    var connectTimeout: TimeAmount = .seconds(5)
    /// From being asked to the end of the answer, waiting included.
    var requestTimeout: TimeAmount = .seconds(15)
    /// After how long without a word from the other side it is asked whether it is still there.
    var pingInterval: TimeAmount = .seconds(60)
    /// How long a connection that nobody needs is kept.
    var idleTimeout: TimeAmount = .minutes(30)
    /// The least time between two attempts to connect, the first of which came to nothing.
    var connectPause: TimeAmount = .milliseconds(250)
    /// How much of an answer is read, in bytes; the rest is of no interest.
    var maximumBody = 16 * 1_024
    /// Statuses after which the connection takes no more requests, as it may be what is wrong.
    var retiringStatuses: Set<Int> = []
    /// A connection younger than this is not what is wrong: opening another would help as little.
    var retiringAge: TimeAmount = .seconds(30)

    /// How often deadlines are looked at.
    var checkInterval: TimeAmount {
        min(.milliseconds(250), .nanoseconds(max(1_000_000, requestTimeout.nanoseconds / 8)))
    }
}
