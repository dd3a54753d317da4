import Foundation
import Locks
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Opens a connection: TCP, TLS, the WebSocket upgrade and the Socket.IO handshake.
struct ConnectionAttempt: Sendable {
    private enum Outcome: Sendable {
        case webSocket(NIOLoopBound<ConnectionHandler>, id: EventLoopFuture<String>)
        case refused(status: EventLoopFuture<Int>)
    }

    let endpoint: SocketIOEndpoint
    let auth: Data
    let group: any EventLoopGroup

    func connection() async throws -> SocketIOConnection {
        let reference = HandlerReference()
        let (events, source) = SocketIOEvents.make(
            SocketIOEvents.Reading(
                resume: { reference.use { $0.setPaused(false) } },
                end: { reference.use { $0.disconnect() } }
            )
        )
        let (channel, outcome) = try await openChannel(source)
        // Closing the channel completes every future below.
        let hasTimedOut = Lock(false)
        let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(endpoint.connectTimeout)) {
            hasTimedOut.withLock { $0 = true }
            channel.close(promise: nil)
        }
        defer { deadline.cancel() }
        return try await withTaskCancellationHandler {
            do {
                switch try await outcome.get() {
                case .refused(let status):
                    throw SocketIOClientError.refusedByHTTP(try await status.get())
                case .webSocket(let handler, let id):
                    reference.set(handler, channel.eventLoop)
                    return SocketIOConnection(
                        id: try await id.get(),
                        events: events,
                        channel: channel,
                        handler: handler
                    )
                }
            } catch {
                channel.close(promise: nil)
                throw hasTimedOut.withLock { $0 } ? SocketIOClientError.timedOut : Self.connectError(error)
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Connects the channel; also returns the future outcome of the WebSocket upgrade.
    private func openChannel(_ source: SocketIOEvents.Source) async throws -> (any Channel, EventLoopFuture<Outcome>) {
        let tls = try endpoint.isSecure ? makeTLSContext() : nil
        do {
            let bootstrap = ClientBootstrap(group: group)
                .connectTimeout(TimeAmount(endpoint.connectTimeout))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            return try await bootstrap.connect(host: endpoint.host, port: endpoint.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(try makeTLSHandler(tls))
                    }
                    return (channel, try upgrade(channel, source))
                }
            }
        } catch {
            throw Self.connectError(error)
        }
    }

    // MARK: TLS

    private func makeTLSContext() throws(SocketIOClientError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        if case .file(let path) = endpoint.trust { configuration.trustRoots = .file(path) }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unreachable("the trusted certificates cannot be read: \(error)")
        }
    }

    private func makeTLSHandler(_ tls: NIOSSLContext) throws -> NIOSSLClientHandler {
        // TLS has no server name for an IP address; NIOSSL then compares the address with the certificate's addresses.
        let isAddress = (try? SocketAddress(ipAddress: endpoint.host, port: 0)) != nil
        return try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : endpoint.host)
    }

    // MARK: WebSocket upgrade

    private func upgrade(
        _ channel: any Channel,
        _ source: SocketIOEvents.Source
    ) throws -> EventLoopFuture<Outcome> {
        let limit = endpoint.maximumMessage
        let upgrader = NIOTypedWebSocketClientUpgrader<Outcome>(maxFrameSize: limit) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                let joined = channel.eventLoop.makePromise(of: String.self)
                let handler = ConnectionHandler(endpoint, auth: auth, source: source, joined: joined)
                let aggregator = NIOWebSocketFrameAggregator(
                    minNonFinalFragmentSize: 0,
                    maxAccumulatedFrameCount: 4_096,
                    maxAccumulatedFrameSize: limit
                )
                try channel.pipeline.syncOperations.addHandlers([aggregator, handler])
                return .webSocket(NIOLoopBound(handler, eventLoop: channel.eventLoop), id: joined.futureResult)
            }
        }
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "\(endpoint.path)?EIO=4&transport=websocket")
        head.headers.add(name: "Host", value: endpoint.authority)
        let refusal: @Sendable (any Channel) -> EventLoopFuture<Outcome> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let status = channel.eventLoop.makePromise(of: Int.self)
                try channel.pipeline.syncOperations.addHandler(StatusHandler(status))
                return .refused(status: status.futureResult)
            }
        }
        var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(
            upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                upgradeRequestHead: head,
                upgraders: [upgrader],
                notUpgradingCompletionHandler: refusal
            )
        )
        // The server sends the first message, often in the same TCP segment as the 101 response.
        pipeline.leftOverBytesStrategy = .forwardBytes
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
    }

    private static func connectError(_ error: any Error) -> any Error {
        switch error {
        case let error as SocketIOClientError where error == .closed(.lost):
            SocketIOClientError.unreachable("no response")
        case is SocketIOClientError, is CancellationError: error
        case ChannelError.connectTimeout: SocketIOClientError.timedOut
        case let error as NIOConnectionError:
            SocketIOClientError.unreachable("no connection to \(error.host):\(error.port)")
        default: SocketIOClientError.unreachable("\(error)")
        }
    }
}

/// Reads the status of a response that refuses the upgrade.
private final class StatusHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let status: EventLoopPromise<Int>

    init(_ status: EventLoopPromise<Int>) {
        self.status = status
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) { status.succeed(Int(head.status.code)) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        status.fail(SocketIOClientError.closed(.lost))
    }
}

/// The connection handler for closures that are created before it exists.
private final class HandlerReference: Sendable {
    private let handler = Lock<(NIOLoopBound<ConnectionHandler>, any EventLoop)?>(nil)

    func set(_ handler: NIOLoopBound<ConnectionHandler>, _ eventLoop: any EventLoop) {
        self.handler.withLock { $0 = (handler, eventLoop) }
    }

    func use(_ body: @escaping @Sendable (ConnectionHandler) -> Void) {
        guard let (handler, eventLoop) = handler.withLock({ $0 }) else { return }
        eventLoop.execute { body(handler.value) }
    }
}
