public import NIOCore
import NIOHTTP1
import NIOPosix

/// A stand-alone HTTP server for Socket.IO; requests for other paths receive 404.
public final class SocketIOListener: Sendable {
    private let channel: any Channel
    private let server: SocketIOServer
    private let engine: EngineServer?

    private init(channel: any Channel, server: SocketIOServer, engine: EngineServer?) {
        self.channel = channel
        self.server = server
        self.engine = engine
    }

    /// The bound address; nil after closing.
    public var address: SocketAddress? { channel.localAddress }

    /// Binds the address and starts accepting connections.
    ///
    /// - Parameters:
    ///   - server: The server that answers the requests.
    ///   - engine: An ``EngineServer`` at another path.
    ///   - host: The address to bind.
    ///   - port: The port; 0 selects a free one.
    ///   - group: The event loops of the connections.
    /// - Returns: The running listener.
    /// - Throws: An I/O error if the address cannot be bound.
    public static func start(
        _ server: SocketIOServer,
        engine: EngineServer? = nil,
        host: String = "127.0.0.1",
        port: Int = 0,
        group: any EventLoopGroup
    ) async throws -> SocketIOListener {
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4_096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try configure(channel, server, engine) }
            }
            .bind(host: host, port: port)
            .get()
        return SocketIOListener(channel: channel, server: server, engine: engine)
    }

    private static func configure(_ channel: any Channel, _ server: SocketIOServer, _ engine: EngineServer?) throws {
        try SocketIOGate.addHTTP(to: channel)
        let gate = SocketIOGate(server) { channel in
            guard let engine else { return try channel.pipeline.syncOperations.addHandler(NotFound()) }
            let gate = SocketIOGate(engine) { try $0.pipeline.syncOperations.addHandler(NotFound()) }
            try channel.pipeline.syncOperations.addHandler(gate)
        }
        try channel.pipeline.syncOperations.addHandler(gate)
    }

    /// Stops accepting connections and closes the existing ones.
    public func close() async {
        // Closing an already closed channel throws; the result is the same.
        try? await channel.close()
        await server.close()
        await engine?.close()
    }

    /// Waits until the listener is closed.
    public func closed() async throws {
        try await channel.closeFuture.get()
    }
}

/// Answers all other requests with 404.
private final class NotFound: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private var isKeepAlive = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): isKeepAlive = head.isKeepAlive
        case .body: break
        case .end:
            let fields: HTTPHeaders = ["Content-Length": "0", "Connection": isKeepAlive ? "keep-alive" : "close"]
            let head = HTTPResponseHead(version: .http1_1, status: .notFound, headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            if !isKeepAlive { context.close(promise: nil) }
        }
    }
}
