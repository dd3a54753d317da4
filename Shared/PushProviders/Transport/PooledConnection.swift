import NIOCore

/// A connection of a ``ConnectionPool``; used on its event loop alone.
protocol PooledConnection: AnyObject {
    /// The pool has put requests aside for it.
    func wake()
    /// Takes no more requests and closes when the last answer is there.
    func retire()
}

/// The first moments of a connection, until it can be used; reports to the pool once how they ended.
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

    /// TCP's part is done; false if that took too long, and then the channel is closed.
    func began(on channel: any Channel) -> Bool {
        self.channel = channel
        if isOver { channel.close(promise: nil) }
        return !isOver
    }

    /// Puts a connection into the pool; false if that took too long, and then the channel is closed before this returns, so
    /// that the connection must not count itself as open yet.
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
