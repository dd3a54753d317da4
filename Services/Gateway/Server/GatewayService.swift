package import Credentials
import Locks
package import Logging
import Metrics
import NIOCore
import NIOPosix
package import ServiceHost
import ServiceLifecycle
import Wire

/// The way in: listens for clients and carries their requests to the services.
///
/// Run it as a service, with the verifier it is given beside it; or `start()` it and `stop()` it.
package final class GatewayService: Service {
    /// What newcomers get; event loops take up another one by one.
    private let current: Lock<GatewayState>
    private let checks = HealthChecks()
    private let group: MultiThreadedEventLoopGroup
    private let loops: [ObjectIdentifier: GatewayLoop]
    let listener = Lock<(any Channel)?>(nil)
    private let isStopped = Lock(false)

    /// A gateway of which `document` says which routes there are.
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

    /// The port that is listened on, once started.
    package var port: Int? {
        listener.withLock { $0?.localAddress?.port }
    }

    /// The event loops that carry connections, to be watched.
    package var watchdogSubjects: [Watchdog.Subject] { Watchdog.Subject.loops("gateway's event loop", of: group) }

    /// The settings as they are now, and what goes by them.
    var state: GatewayState { current.withLock { $0 } }

    /// Whether it takes connections and can judge a credential.
    package var isReady: Bool {
        port != nil && state.credentials.isLoaded && !isStopped.withLock { $0 }
    }

    /// - Throws: `ListenerClosed` where nobody has asked it to end: whoever watches the process starts another.
    package func run() async throws {
        try await start()
        guard let listener = listener.withLock({ $0 }) else { return }
        let isAsked = await withTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                // Also returns, by throwing, when the task is cancelled: then it stops as well.
                try? await gracefulShutdown()
                return true
            }
            tasks.addTask {
                // However it was closed.
                try? await listener.closeFuture.get()
                return false
            }
            let isAsked = await tasks.next() ?? true
            tasks.cancelAll()
            await stop()
            return isAsked
        }
        guard isAsked else { throw ListenerClosed() }
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
            // Set on the listener, since a connection's window is agreed on before it is accepted.
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

    /// Goes on with other settings, and with other instances of the services.
    ///
    /// Requests under way finish at the instance that has them. What is known of instances that stay is kept, and so are
    /// the counts of the limits. Where it listens, and on how many threads, is settled when it starts.
    package func reconfigure(_ configuration: GatewayConfiguration) async throws {
        let state = current.withLock { current in
            current = GatewayState(current, configuration: configuration)
            return current
        }
        state.configuration.certificates?.logExpiry(state.logger)
        checks.monitor(state)
        for loop in loops.values { try await loop.eventLoop.submit { loop.apply(state) }.get() }
    }

    /// Takes no more connections, lets what is under way finish for as long as it may, and ends.
    package func stop() async {
        let isFirst = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        checks.stop()
        let channel = listener.withLock { $0 }
        // A listener that is closed already is closed.
        try? await channel?.close().get()
        let timeout = state.configuration.drainTimeout
        await withTaskGroup(of: Void.self) { tasks in
            for loop in loops.values {
                tasks.addTask {
                    let deadline = loop.eventLoop.makePromise(of: Void.self)
                    let timer = loop.eventLoop.scheduleTask(in: timeout) { deadline.succeed() }
                    loop.drain().whenComplete { _ in deadline.succeed() }
                    // The promise never fails.
                    try? await deadline.futureResult.get()
                    timer.cancel()
                    try? await loop.stop().get()
                }
            }
        }
        // All that may fail here is that it was shut down before.
        try? await group.shutdownGracefully()
    }
}

/// The port was closed by what the kernel said of it, and nobody is heard any more.
struct ListenerClosed: Error, CustomStringConvertible {
    let description = "the port that was listened on has closed"
}

/// How a connection came in: the address that it counts for, and the answer that it gets if it is one too many.
struct ConnectionAdmission: Sendable {
    let key: UInt64?
    let limitError: APIError?
}

extension GatewayLoop {
    /// So many connections beyond a limit are told so; a flood of them is not.
    private static let rejectedWithResponse = 256

    /// Makes a connection ready for requests.
    func accept(_ channel: any Channel) throws {
        let limits = state.configuration
        let key = connectionKey(of: channel)
        let connections = state.connections
        var open = connections.add(key)
        counters.connections.increment()
        channel.closeFuture.whenComplete { _ in connections.remove(key) }
        if open.total > limits.connectionLimit {
            // NIO counts a connection that is being closed until the loop's next turn.
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

    /// The address that a connection counts for; nil for a proxy's, which brings many clients.
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

    /// Makes a connection, or what is inside its TLS, ready for requests in HTTP/1.
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
