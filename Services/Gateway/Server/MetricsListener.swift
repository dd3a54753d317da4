import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceHost
import ServiceLifecycle

/// The server of `/metrics`, by default on the loopback address only, because usage figures are not public.
///
/// It also serves `/health` and `/ready`, for supervisors of a gateway whose certificate is not for this machine's
/// name.
struct MetricsListener: Service {
    let host: String
    let port: Int
    let metrics: PrometheusRegistry
    let isReady: @Sendable () -> Bool

    func run() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { [metrics, isReady] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
                    try channel.pipeline.syncOperations.addHandler(MetricsHandler(metrics: metrics, isReady: isReady))
                }
            }
            .bind(host: host, port: port)
            .get()
        // Cancellation throws here, and the listener then closes as well.
        try? await gracefulShutdown()
        try await channel.close().get()
    }
}

private final class MetricsHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let metrics: PrometheusRegistry
    private let isReady: @Sendable () -> Bool
    private var page = ""

    init(metrics: PrometheusRegistry, isReady: @escaping @Sendable () -> Bool) {
        self.metrics = metrics
        self.isReady = isReady
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): page = head.method == .GET ? head.uri : ""
        case .body: break
        case .end:
            let (status, text) = response
            let body = ByteBuffer(string: text)
            let headers: HTTPHeaders = [
                "content-type": "text/plain; version=0.0.4", "content-length": "\(body.readableBytes)",
            ]
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
            context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    private var response: (HTTPResponseStatus, String) {
        switch page {
        case "/metrics": (.ok, metrics.text())
        case "/health": (.ok, "ok")
        case "/ready": isReady() ? (.ok, "ready") : (.serviceUnavailable, "not ready")
        default: (.notFound, "")
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
