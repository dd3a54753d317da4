import NIOCore

/// A connection of a ``ConnectionPool``, confined to its event loop.
protocol PooledConnection: AnyObject {
    /// Takes requests that the pool has assigned.
    func wake()
    /// Takes no more requests, and closes after the last response.
    func retire()
}

/// An attempt to open a connection; reports its result to the pool exactly once.
///
/// Confined to the connection's event loop.
final class ConnectionAttempt {
    private let pool: ConnectionPool
    private let eventLoop: any EventLoop
    private var timer: Scheduled<Void>?
    private var isOver = false
    private var channel: (any Channel)?

    init(pool: ConnectionPool, eventLoop: any EventLoop, timeout: TimeAmount) {
        self.pool = pool
        self.eventLoop = eventLoop
        timer = eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.fail(.unreachable("timeout")) }
    }

    /// Records that TCP is connected; returns false after a timeout, which closes the channel.
    func began(on channel: any Channel) -> Bool {
        self.channel = channel
        if isOver { channel.close(promise: nil) }
        return !isOver
    }

    /// Adds a connection to the pool.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - limit: the maximum number of concurrent requests.
    /// - Returns: false after a timeout. The channel is then closed before this method returns, so the connection must
    ///   not count itself as open before.
    func succeed(_ connection: any PooledConnection, limit: Int) -> Bool {
        guard end() else {
            channel?.close(promise: nil)
            return false
        }
        let bound = NIOLoopBound(connection, eventLoop: eventLoop)
        pool.opened(ObjectIdentifier(connection), bound, on: eventLoop, limit: limit)
        return true
    }

    func fail(_ failure: TransportFailure) {
        guard end() else { return }
        pool.connectFailed(failure)
        channel?.close(promise: nil)
    }

    private func end() -> Bool {
        guard !isOver else { return false }
        isOver = true
        timer?.cancel()
        timer = nil
        return true
    }
}
