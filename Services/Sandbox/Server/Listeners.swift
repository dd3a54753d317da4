import Locks
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization
import TLSRecords

/// The TCP ports of the sandbox.
final class Listeners: Sendable {
    enum PortKind: Sendable {
        /// HTTP/1.1: FCM, Web Push, the networks, scripts and the page.
        case web
        /// APNs over TLS. Clients that do not negotiate HTTP/2 reach the same handlers as on a `web` port.
        case apns(AppleEnvironment)
        /// SMTP, in cleartext until STARTTLS.
        case smtp
    }

    private let group: MultiThreadedEventLoopGroup
    private let context: NIOSSLContext
    private let apns: APNs
    private let web: Web
    private let mail: SMTPSession
    private let limit: Int
    private let channels = Lock<[any Channel]>([])

    init(
        configuration: SandboxConfiguration,
        context: NIOSSLContext,
        apns: APNs,
        web: Web,
        mail: SMTPSession
    ) {
        let threads = configuration.threads > 0 ? configuration.threads : System.coreCount
        group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        limit = configuration.connectionLimit
        self.context = context
        self.apns = apns
        self.web = web
        self.mail = mail
    }

    func open(_ kind: PortKind, host: String, port: Int) async throws -> Int {
        let connections = ConnectionCount(limit: limit)
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1_024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { [self] channel in
                guard connections.enter() else { return channel.close() }
                channel.closeFuture.whenComplete { _ in connections.leave() }
                return channel.eventLoop.makeCompletedFuture {
                    switch kind {
                    case .web: try serveWeb(channel, scheme: "http")
                    case .apns(let environment): try secure(channel, environment: environment)
                    case .smtp: try channel.pipeline.syncOperations.addHandler(SMTPHandler(mail, tls: context))
                    }
                }
            }
            .bind(host: host, port: port)
            .get()
        channels.withLock { $0.append(channel) }
        return channel.localAddress?.port ?? port
    }

    func close() async {
        for channel in channels.withLock({ $0 }) {
            // Closing fails only when the channel is already closed.
            try? await channel.close().get()
        }
        // Shutdown fails only when the group was already shut down.
        try? await group.shutdownGracefully()
    }

    private func secure(_ channel: any Channel, environment: AppleEnvironment) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: context))
        try pipeline.addHandler(TLSRecordBatcher())
        try pipeline.addHandler(
            ApplicationProtocolNegotiationHandler { [self] agreed, channel in
                channel.eventLoop.makeCompletedFuture {
                    switch agreed {
                    case .negotiated("h2"):
                        try APNsConnection.install(in: channel, apns: apns, environment: environment)
                    default: try serveWeb(channel, scheme: "https")
                    }
                }
            }
        )
        try pipeline.addHandler(HandshakeFailureHandler())
    }

    private func serveWeb(_ channel: any Channel, scheme: String) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(WebHandler(web: web, scheme: scheme))
    }
}

/// Closes a connection whose TLS handshake fails, for example because the client does not trust the authority.
private final class HandshakeFailureHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

private final class ConnectionCount: Sendable {
    private let limit: Int
    private let open = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    func enter() -> Bool {
        guard open.add(1, ordering: .relaxed).newValue <= limit else {
            open.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    func leave() {
        open.subtract(1, ordering: .relaxed)
    }
}
