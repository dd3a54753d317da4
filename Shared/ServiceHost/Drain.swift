import Locks
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The time between being told to stop and taking no more connections.
///
/// Whoever sends requests here must stop first, or the last of them meets a closed door: `/ready` says no, every answer
/// says that its connection ends, and connections are taken as before. That is over once no request has come for half of
/// `longest`, and after `longest` in any case; where nobody is connected, at once. Run it as the last service, which is the
/// first to be told.
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
        // Throws when the task is cancelled: then there is no time to wait.
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

    /// A request came, and not to ask how this service is doing.
    func served() {
        guard isDraining else { return }
        lastRequest.withLock { $0 = .now }
    }

    /// A handler that counts a connection.
    func counter() -> ConnectionCounter {
        ConnectionCounter(drain: self)
    }

    /// Counts a connection for as long as it is open.
    func count(_ channel: any Channel) {
        connections.add(1, ordering: .relaxed)
        channel.closeFuture.whenComplete { [self] _ in connections.subtract(1, ordering: .relaxed) }
    }
}

/// Tells a service's drain of one connection.
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
