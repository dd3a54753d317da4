import Locks
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The phase between the shutdown request and the closing of the listener, in which clients and load balancers switch
/// away.
///
/// Requests that were routed here before must still succeed. Therefore `/ready` fails, each response closes its
/// connection, and new connections are still accepted. The phase ends when no request has arrived for half of
/// `longest`, at the latest after `longest`, and immediately if there are no connections. Run it as the last service,
/// because services stop in reverse order.
package final class Drain: Service {
    private let longest: Duration
    private let logger: Logger
    private let draining = Atomic<Bool>(false)
    private let connections = Atomic<Int>(0)
    private let lastRequest = Lock(ContinuousClock.now)

    init(longest: Duration, logger: Logger) {
        self.longest = longest
        self.logger = logger
    }

    var isDraining: Bool { draining.load(ordering: .relaxed) }

    package func run() async {
        // gracefulShutdown() throws when the task is cancelled; then there is no time to wait.
        guard (try? await gracefulShutdown()) != nil, !Task.isCancelled else { return }
        await drain()
    }

    package func drain() async {
        let start = ContinuousClock.now
        lastRequest.withLock { $0 = start }
        draining.store(true, ordering: .relaxed)
        let connections = connections.load(ordering: .relaxed)
        logger.info("draining", metadata: ["connections": "\(connections)"])
        guard connections > 0 else { return }
        while true {
            let end = min(start + longest, lastRequest.withLock { $0 } + longest / 2)
            guard end > .now else { return }
            do {
                try await Task.sleep(until: end, clock: .continuous)
            } catch {
                return
            }
        }
    }

    /// Records the arrival of a request that is not a health check.
    func served() {
        guard isDraining else { return }
        lastRequest.withLock { $0 = .now }
    }

    /// Returns a channel handler that counts a connection.
    func counter() -> ConnectionCounter {
        ConnectionCounter(drain: self)
    }

    /// Counts a connection while it is open.
    func count(_ channel: any Channel) {
        connections.add(1, ordering: .relaxed)
        channel.closeFuture.whenComplete { [self] _ in connections.subtract(1, ordering: .relaxed) }
    }
}

/// A channel handler that registers its connection with the drain.
final class ConnectionCounter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let drain: Drain

    init(drain: Drain) {
        self.drain = drain
    }

    func handlerAdded(context: ChannelHandlerContext) {
        drain.count(context.channel)
    }
}
