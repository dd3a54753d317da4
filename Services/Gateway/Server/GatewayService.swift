package import Credentials
import Locks
package import Logging
import Metrics
import NIOCore
import NIOPosix
package import ServiceHost
import ServiceLifecycle
import Wire

/// The gateway's server: accepts client connections and forwards their requests to the services.
///
/// Run it as a service together with its credential verifier, or call `start()` and `stop()`.
package final class GatewayService: Service {
    /// The state for new connections; each event loop adopts a new state separately.
    private let current: Lock<GatewayState>
    private let checks = HealthChecks()
    private let group: MultiThreadedEventLoopGroup
    private let loops: [ObjectIdentifier: GatewayLoop]
    let listener = Lock<(any Channel)?>(nil)
    private let isStopped = Lock(false)

    package init(
        configuration: GatewayConfiguration,
        credentials: CredentialVerifier,
        document: OpenAPIDocument,
        logger: Logger
    ) {
        let threads = configuration.eventLoops > 0 ? configuration.eventLoops : System.coreCount
        let state = GatewayState(
            configuration: configuration,
            credentials: credentials,
            document: document,
            loopCount: threads,
            logger: logger
        )
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        var loops: [ObjectIdentifier: GatewayLoop] = [:]
        for eventLoop in group.makeIterator() {
            loops[ObjectIdentifier(eventLoop)] = GatewayLoop(eventLoop: eventLoop, state: state)
        }
        current = Lock(state)
        self.group = group
        self.loops = loops
    }

    package var port: Int? {
        listener.withLock { $0?.localAddress?.port }
    }

    package var watchdogSubjects: [Watchdog.Subject] { Watchdog.Subject.loops("gateway's event loop", of: group) }

    var state: GatewayState { current.withLock { $0 } }

    /// Whether the gateway accepts connections and can verify credentials.
    package var isReady: Bool {
        port != nil && state.credentials.isLoaded && !isStopped.withLock { $0 }
    }

    /// Runs until the service group requests a shutdown.
    ///
    /// - Throws: `ListenerClosed` when the listener closed without such a request; the supervisor then restarts the
    ///   process.
    package func run() async throws {
        try await start()
        guard let listener = listener.withLock({ $0 }) else { return }
        let isRequested = await withTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                // Cancellation throws here, and the gateway then stops as well.
                try? await gracefulShutdown()
                return true
            }
            tasks.addTask {
                // The listener counts as closed even when its future fails.
                try? await listener.closeFuture.get()
                return false
            }
            let isRequested = await tasks.next() ?? true
            tasks.cancelAll()
            await stop()
            return isRequested
        }
        guard isRequested else { throw ListenerClosed() }
    }

    package func start() async throws {
        state.configuration.certificates?.logExpiry(state.logger)
        for loop in loops.values { loop.start() }
        checks.monitor(state)
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4_096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelInitializer { [loops] channel in
                channel.eventLoop.makeCompletedFuture {
                    try loops[ObjectIdentifier(channel.eventLoop)]?.accept(channel)
                }
            }
        if let bytes = state.configuration.receiveBuffer {
            // The option belongs on the listener, because a connection's window is negotiated before it is accepted.
            bootstrap = bootstrap.serverChannelOption(
                .socketOption(.so_rcvbuf),
                value: ChannelOptions.Types.SocketOption.Value(bytes)
            )
        }
        let channel =
            try await bootstrap
            .bind(host: state.configuration.host, port: state.configuration.port)
            .get()
        listener.withLock { $0 = channel }
        state.logger.info("listening", metadata: ["address": "\(channel.localAddress?.description ?? "")"])
    }

    /// Applies new settings and new instances of the services.
    ///
    /// Requests in progress finish at their instances. The health of unchanged instances and the counts of the limits
    /// are kept. The listening address and the number of threads are fixed at the start.
    package func reconfigure(_ configuration: GatewayConfiguration) async throws {
        let state = current.withLock { current in
            current = GatewayState(current, configuration: configuration)
            return current
        }
        state.configuration.certificates?.logExpiry(state.logger)
        checks.monitor(state)
        for loop in loops.values { try await loop.eventLoop.submit { loop.apply(state) }.get() }
    }

    /// Stops accepting connections, waits up to `drainTimeout` for requests in progress, and closes the rest.
    package func stop() async {
        let isFirst = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        checks.stop()
        let channel = listener.withLock { $0 }
        // Closing fails only when the listener is already closed.
        try? await channel?.close().get()
        let timeout = state.configuration.drainTimeout
        await withTaskGroup(of: Void.self) { tasks in
            for loop in loops.values {
                tasks.addTask {
                    let deadline = loop.eventLoop.makePromise(of: Void.self)
                    let timer = loop.eventLoop.scheduleTask(in: timeout) { deadline.succeed() }
                    loop.drain().whenComplete { _ in deadline.succeed() }
                    try? await deadline.futureResult.get()
                    timer.cancel()
                    try? await loop.stop().get()
                }
            }
        }
        // The shutdown fails only when the group was already shut down.
        try? await group.shutdownGracefully()
    }
}

/// The error of a listener that closed without a request to stop, for example after a kernel error.
struct ListenerClosed: Error, CustomStringConvertible {
    let description = "the listener has closed unexpectedly"
}

/// The address key that a connection counts for, and the error response when a limit is exceeded.
struct ConnectionAdmission: Sendable {
    let key: UInt64?
    let limitError: APIError?
}

extension GatewayLoop {
    /// The number of connections beyond a limit that receive an error response; further ones are only closed.
    private static let rejectedWithResponse = 256

    func accept(_ channel: any Channel) throws {
        let limits = state.configuration
        let key = connectionKey(of: channel)
        let connections = state.connections
        var open = connections.add(key)
        counters.connections.increment()
        channel.closeFuture.whenComplete { _ in connections.remove(key) }
        if open.total > limits.connectionLimit {
            // NIO counts a closing connection until the next turn of the event loop.
            open.total = connections.count - evictIdleConnections(.now())
        }
        let beyondAddress = limits.addressConnectionLimit > 0 ? open.ofAddress - limits.addressConnectionLimit : 0
        let beyondTotal = open.total - limits.connectionLimit
        var limitError: APIError?
        if beyondAddress > 0 || beyondTotal > 0 {
            connections.refused(isOfAddress: beyondAddress > 0)
            guard beyondAddress <= Self.rejectedWithResponse / 16, beyondTotal <= Self.rejectedWithResponse else {
                channel.close(promise: nil)
                return
            }
            limitError =
                beyondAddress > 0 ? GatewayError.tooManyConnectionsFromAddress : GatewayError.tooManyConnections
        }
        let admission = ConnectionAdmission(key: key, limitError: limitError)
        if let certificates = limits.certificates {
            try secure(channel, with: certificates, admission: admission)
        } else {
            try serveHTTP1(channel, scheme: "http", admission: admission)
        }
    }

    /// Returns the address key that a connection counts for, or nil for a proxy, which forwards many clients.
    private func connectionKey(of channel: any Channel) -> UInt64? {
        guard let address = channel.remoteAddress?.ipAddress else { return nil }
        let configuration = state.configuration
        if let ip = IPAddress(address),
            configuration.trustedProxies.contains(ip)
                || configuration.unlimitedAddresses.contains(ip)
        {
            return nil
        }
        return ClientKey.address(address)
    }

    func serveHTTP1(_ channel: any Channel, scheme: String, admission: ConnectionAdmission) throws {
        let codec = ServerCodec(configuration: state.configuration)
        let proxyHandler = ProxyHandler(
            loop: self,
            codec: codec,
            peer: Origin(of: channel, scheme: scheme, trusting: state.configuration.trustedProxies),
            admission: admission
        )
        try codec.install(in: channel, before: proxyHandler)
    }
}
