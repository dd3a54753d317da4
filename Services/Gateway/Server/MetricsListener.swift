import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceHost
import ServiceLifecycle

/// Answers `/metrics`, by default on the loopback address alone: how much the suite is used is nobody else's business.
struct MetricsListener: Service {
    let host: String
    let port: Int
    let metrics: PrometheusRegistry

    func run() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { [metrics] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
                    try channel.pipeline.syncOperations.addHandler(MetricsHandler(metrics: metrics))
                }
            }
            .bind(host: host, port: port)
            .get()
        // Throws when the task is cancelled: then it closes as well.
        try? await gracefulShutdown()
        try await channel.close().get()
    }
}

private final class MetricsHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let metrics: PrometheusRegistry
    private var isKnown = false

    init(metrics: PrometheusRegistry) {
        self.metrics = metrics
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): isKnown = head.method == .GET && head.uri == "/metrics"
        case .body: break
        case .end:
            let body = ByteBuffer(string: isKnown ? metrics.text() : "")
            let headers: HTTPHeaders = [
                "content-type": "text/plain; version=0.0.4", "content-length": "\(body.readableBytes)",
            ]
            let head = HTTPResponseHead(version: .http1_1, status: isKnown ? .ok : .notFound, headers: headers)
            context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
