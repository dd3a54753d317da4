import NIOCore
import NIOHTTP1
import NIOPosix

/// The connections from one event loop to one instance: the idle ones, and a count of all.
///
/// A pool belongs to its event loop, so a request never changes threads.
final class UpstreamPool {
    private static let receiveBuffer: SocketOptionValue = 256 * 1_024

    let health: InstanceHealth
    private let eventLoop: any EventLoop
    private var configuration: GatewayConfiguration
    private var limit: Int
    private var idle: [UpstreamHandler] = []
    private var count = 0
    private var tunnels = 0
    /// The number of long polls and event streams.
    private var longLived = 0
    private var unreported = 0
    private var shown = PoolSize()
    /// Whether the instance was removed: its requests finish, and no connection is kept.
    private var isRetired = false

    /// Creates the pool of one of `loops` event loops, which share the request limit of the instance.
    init(health: InstanceHealth, eventLoop: any EventLoop, configuration: GatewayConfiguration, loops: Int) {
        self.health = health
        self.eventLoop = eventLoop
        self.configuration = configuration
        limit = max(1, configuration.upstreamConnectionLimit / loops)
        idle.reserveCapacity(64)
    }

    func apply(_ configuration: GatewayConfiguration, loops: Int) {
        self.configuration = configuration
        limit = max(1, configuration.upstreamConnectionLimit / loops)
    }

    var instance: UpstreamInstance { health.instance }

    var hasRoom: Bool { mayConnect || !idle.isEmpty }

    var isOpenToAll: Bool { health.isHealthy && hasRoom }

    /// Returns the number of requests in progress, or of tunnels when the request will become one.
    func load(asTunnel: Bool) -> Int {
        asTunnel ? tunnels : count - idle.count - tunnels
    }

    // MARK: Connections

    /// Returns the connection that was used last, which is the least likely to be closed.
    func lease() -> UpstreamHandler? {
        while let connection = idle.popLast() {
            if connection.isUsable { return connection }
        }
        return nil
    }

    /// Whether another connection may be opened; only the client connection limit restricts tunnels.
    var mayConnect: Bool { count - tunnels < limit }

    /// Whether another long poll or event stream may start; they use at most half of the limit, to keep room for
    /// others.
    var mayAddLongLived: Bool { longLived < max(1, limit / 2) }

    func connect(_ completion: @escaping (Result<UpstreamHandler, any Error>) -> Void) {
        count += 1
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(configuration.connectTimeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            // After the service has closed, NIO reads all that the kernel holds, however slowly the client reads.
            .channelOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
        let connected: EventLoopFuture<any Channel>
        // An IP address needs no name lookup, which would use a thread.
        if let address = try? SocketAddress(ipAddress: instance.host, port: instance.port) {
            connected = bootstrap.connect(to: address)
        } else {
            connected = bootstrap.connect(host: instance.host, port: instance.port)
        }
        connected.assumeIsolated().whenComplete { result in
            let handler = UpstreamHandler(pool: self)
            do {
                // NIO tries several addresses of a name in parallel; this is the channel that won.
                let channel = try result.get()
                try handler.install(in: channel)
                // A channel that closes while it becomes active does not notify its handlers, so the handler is used
                // afterwards.
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

    /// Removes a closed connection; both its handler and `connect` may report it.
    func forget(_ connection: UpstreamHandler) {
        guard connection.isCounted else { return }
        connection.isCounted = false
        count -= 1
        if connection.isTunnel { tunnels -= 1 }
        if connection.isLongLived { longLived -= 1 }
        if let index = idle.lastIndex(where: { $0 === connection }) { idle.remove(at: index) }
    }

    func changeLongLived(_ change: Int) {
        longLived += change
    }

    func becameTunnel() {
        tunnels += 1
    }

    // MARK: Results of requests

    func sent() {
        unreported += 1
    }

    func failed(_ failure: InstanceHealth.Failure, began: NIODeadline) {
        let now = NIODeadline.now()
        report(now)
        health.failed(failure, began: began, now: now)
    }

    /// Reports the sent requests to the health that all loops share.
    private func report(_ now: NIODeadline) {
        health.sent(unreported, now: now)
        unreported = 0
    }

    // MARK: Time

    func check(_ now: NIODeadline) {
        report(now)
        health.advance(now)
        // An instance that stops closes its connections, and a request in transit could be lost.
        if !health.isHealthy, !health.healthStatus.isReady { closeIdle() }
        reap(now)
        recordGauges()
    }

    /// Closes connections that have been idle for too long, before the service does.
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
