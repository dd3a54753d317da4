import NIOCore
import NIOHTTP1
import NIOPosix

/// The connections from one event loop to one instance: those that wait for a request, and a count of all.
///
/// Confined to its loop, so that a request never changes threads on its way.
final class UpstreamPool {
    private static let receiveBuffer: SocketOptionValue = 256 * 1_024

    let instance: UpstreamInstance
    private let eventLoop: any EventLoop
    private let configuration: GatewayConfiguration
    private let limit: Int
    private var idle: [UpstreamHandler] = []
    private(set) var count = 0
    /// The requests that a pooled connection broke under may be sent again as far as this goes.
    var retries = RetryBudget()

    init(instance: UpstreamInstance, eventLoop: any EventLoop, configuration: GatewayConfiguration, limit: Int) {
        self.instance = instance
        self.eventLoop = eventLoop
        self.configuration = configuration
        self.limit = limit
        idle.reserveCapacity(64)
    }

    var isFull: Bool { count >= limit }

    /// The connection used last, which is the least likely to have been closed meanwhile.
    func lease() -> UpstreamHandler? {
        while let connection = idle.popLast() {
            if connection.isUsable { return connection }
        }
        return nil
    }

    /// Opens a connection and hands it to `completion`, on the loop.
    func connect(_ completion: @escaping (Result<UpstreamHandler, any Error>) -> Void) {
        count += 1
        let handler = UpstreamHandler(pool: self)
        let bound = NIOLoopBound(handler, eventLoop: eventLoop)
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(configuration.connectTimeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            // NIO reads all that the kernel holds once the service has closed, however slowly the client takes it.
            .channelOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.install(in: channel) }
            }
        let connected: EventLoopFuture<any Channel>
        // An address needs no look-up, which would take a thread.
        if let address = try? SocketAddress(ipAddress: instance.host, port: instance.port) {
            connected = bootstrap.connect(to: address)
        } else {
            connected = bootstrap.connect(host: instance.host, port: instance.port)
        }
        connected.assumeIsolated().whenComplete { result in
            if case .failure = result { self.count -= 1 }
            completion(result.map { _ in handler })
        }
    }

    func release(_ connection: UpstreamHandler) {
        connection.idleSince = .now()
        idle.append(connection)
    }

    /// A connection that was open is closed.
    func forget(_ connection: UpstreamHandler) {
        count -= 1
        if let place = idle.lastIndex(where: { $0 === connection }) { idle.remove(at: place) }
    }

    /// Closes what has waited too long, before the service does.
    func reap(_ now: NIODeadline) {
        let overdue = idle.prefix { now - $0.idleSince > configuration.upstreamIdleTimeout }
        for connection in overdue { connection.close() }
    }

    func closeIdle() {
        for connection in idle { connection.close() }
    }
}
