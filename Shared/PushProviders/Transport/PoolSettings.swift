import NIOCore

struct PoolSettings: Sendable {
    var connections = 4
    /// The number of concurrent requests on every connection at which another one opens.
    var spread = 100
    /// The maximum number of concurrent requests on an HTTP/2 connection; the server can set a lower limit.
    var streams = 1_000
    var waiting = 20_000
    var connectTimeout: TimeAmount = .seconds(5)
    /// The time limit for a request, including the wait for a connection.
    var requestTimeout: TimeAmount = .seconds(15)
    /// The time without received data after which a connection is pinged.
    var pingInterval: TimeAmount = .seconds(60)
    var idleTimeout: TimeAmount = .minutes(30)
    /// The minimum time after a failed attempt to connect.
    var connectPause: TimeAmount = .milliseconds(250)
    /// The maximum bytes of a response's body that are read.
    var maximumBody = 16 * 1_024
    /// Response statuses after which a connection is replaced, because the connection may be the cause.
    var retiringStatuses: Set<Int> = []
    /// The minimum age of a connection for a replacement; a new connection is not the cause.
    var retiringAge: TimeAmount = .seconds(30)

    var checkInterval: TimeAmount {
        min(.milliseconds(250), .nanoseconds(max(1_000_000, requestTimeout.nanoseconds / 8)))
    }
}
