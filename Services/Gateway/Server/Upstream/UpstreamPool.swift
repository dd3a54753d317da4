import NIOCore
import NIOHTTP1
import NIOPosix

/// The connections from one event loop to one instance: those that wait for a request, and a count of all.
///
/// Confined to its loop, so that a request never changes threads on its way.
final class UpstreamPool {
    private static let receiveBuffer: SocketOptionValue = 256 * 1_024

    let health: InstanceHealth
    private let eventLoop: any EventLoop
    private var configuration: GatewayConfiguration
    private var limit: Int
    private var idle: [UpstreamHandler] = []
    private var count = 0
    private var tunnels = 0
    /// Requests that are held until there is something to answer.
    private var longLived = 0
    /// Requests sent since it was last told.
    private var unreported = 0
    private var shown = PoolSize()
    /// The instance is none any more: what it has under way ends, and nothing is kept.
    private var isRetired = false

    /// A pool on one of `loops` event loops, which share what one instance may be asked at once.
    init(health: InstanceHealth, eventLoop: any EventLoop, configuration: GatewayConfiguration, loops: Int) {
        self.health = health
        self.eventLoop = eventLoop
        self.configuration = configuration
        limit = max(1, configuration.upstreamConnectionLimit / loops)
        idle.reserveCapacity(64)
    }

    /// Goes on with other settings.
    func apply(_ configuration: GatewayConfiguration, loops: Int) {
        self.configuration = configuration
        limit = max(1, configuration.upstreamConnectionLimit / loops)
    }

    var instance: UpstreamInstance { health.instance }

    /// Whether a request would find a connection, or may open one.
    var hasRoom: Bool { mayConnect || !idle.isEmpty }

    var isOpenToAll: Bool { health.isHealthy && hasRoom }

    /// Requests under way; for one that would become a tunnel, the tunnels that there are.
    func load(asTunnel: Bool) -> Int {
        asTunnel ? tunnels : count - idle.count - tunnels
    }

    // MARK: Connections

    /// The connection used last, which is the least likely to have been closed meanwhile.
    func lease() -> UpstreamHandler? {
        while let connection = idle.popLast() {
            if connection.isUsable { return connection }
        }
        return nil
    }

    /// Whether another connection may be opened; tunnels are as many as clients may have.
    var mayConnect: Bool { count - tunnels < limit }

    /// Whether another request may be held: who waits for news must not keep those away who have a question.
    var mayAddLongLived: Bool { longLived < max(1, limit / 2) }

    /// Opens a connection and hands it to `completion`, on the loop.
    func connect(_ completion: @escaping (Result<UpstreamHandler, any Error>) -> Void) {
        count += 1
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(configuration.connectTimeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            // NIO reads all that the kernel holds once the service has closed, however slowly the client takes it.
            .channelOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
        let connected: EventLoopFuture<any Channel>
        // An address needs no look-up, which would take a thread.
        if let address = try? SocketAddress(ipAddress: instance.host, port: instance.port) {
            connected = bootstrap.connect(to: address)
        } else {
            connected = bootstrap.connect(host: instance.host, port: instance.port)
        }
        connected.assumeIsolated().whenComplete { result in
            let handler = UpstreamHandler(pool: self)
            do {
                // The one channel that won, where a name has several addresses that are tried side by side.
                let channel = try result.get()
                try handler.install(in: channel)
                // A channel that is closed while it becomes active never tells its handlers so: it is used after that.
                self.eventLoop.assumeIsolated().execute {
                    guard channel.isActive else {
                        self.forget(handler)
                        return completion(.failure(ChannelError.ioOnClosedChannel))
                    }
                    completion(.success(handler))
                }
            } catch {
                self.forget(handler)
                completion(.failure(error))
            }
        }
    }

    func release(_ connection: UpstreamHandler) {
        guard !isRetired else {
            connection.close()
            return
        }
        connection.idleSince = .now()
        idle.append(connection)
    }

    /// A connection that was open is closed; its handler and the one that opened it may both find that.
    func forget(_ connection: UpstreamHandler) {
        guard connection.isCounted else { return }
        connection.isCounted = false
        count -= 1
        if connection.isTunnel { tunnels -= 1 }
        if connection.isLongLived { longLived -= 1 }
        if let index = idle.lastIndex(where: { $0 === connection }) { idle.remove(at: index) }
    }

    /// A request is held over one connection more, or less.
    func changeLongLived(_ change: Int) {
        longLived += change
    }

    func becameTunnel() {
        tunnels += 1
    }

    // MARK: What came of requests

    func sent() {
        unreported += 1
    }

    func failed(_ failure: InstanceHealth.Failure, began: NIODeadline) {
        let now = NIODeadline.now()
        report(now)
        health.failed(failure, began: began, now: now)
    }

    /// Tells of what was sent to who counts it for all loops.
    private func report(_ now: NIODeadline) {
        health.sent(unreported, now: now)
        unreported = 0
    }

    // MARK: Time

    func check(_ now: NIODeadline) {
        report(now)
        health.advance(now)
        // What is about to stop closes its connections, and a request that is on its way then may be lost.
        if !health.isHealthy, !health.healthStatus.isReady { closeIdle() }
        reap(now)
        recordGauges()
    }

    /// Closes what has waited too long, before the service does.
    private func reap(_ now: NIODeadline) {
        let overdue = idle.prefix { now - $0.idleSince > configuration.upstreamIdleTimeout }
        for connection in overdue { connection.close() }
    }

    private func recordGauges() {
        recordGauges(PoolSize(idle: idle.count, busy: load(asTunnel: false), tunnels: tunnels))
    }

    private func recordGauges(_ size: PoolSize) {
        guard size != shown else { return }
        health.metrics.resized(from: shown, to: size)
        shown = size
    }

    func closeIdle() {
        for connection in idle { connection.close() }
    }

    func retire() {
        isRetired = true
        closeIdle()
        recordGauges(PoolSize())
    }
}
