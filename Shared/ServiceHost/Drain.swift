import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The time between being told to stop and taking no more connections.
///
/// Whoever sends requests here must stop first, or the last of them meets a closed door: `/ready` says no, every answer
/// says that its connection ends, and connections are taken as before. That is over once nobody is connected, and after
/// `longest` in any case. Run it as the last service, which is the first to be told.
package final class Drain: Service {
    private let longest: Duration
    private let logger: Logger
    private let draining = Atomic<Bool>(false)
    private let connections = Mutex(0)
    private let left = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

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
        draining.store(true, ordering: .relaxed)
        logger.info("draining", metadata: ["connections": "\(connections.withLock { $0 })"])
        guard connections.withLock({ $0 }) > 0 else { return }
        await withTaskGroup(of: Void.self) { group in
            // Cancelled, it has waited long enough.
            group.addTask { [longest] in try? await Task.sleep(for: longest) }
            group.addTask { [self] in
                for await _ in left.stream where connections.withLock({ $0 }) == 0 { return }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// A handler that counts a connection.
    func counter() -> ConnectionCounter {
        ConnectionCounter(drain: self)
    }

    fileprivate func opened() {
        connections.withLock { $0 += 1 }
    }

    fileprivate func closed() {
        let isLast = connections.withLock { connections in
            connections -= 1
            return connections == 0
        }
        if isLast, isDraining { left.continuation.yield() }
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
        drain.opened()
        context.channel.closeFuture.whenComplete { [drain] _ in drain.closed() }
    }
}
