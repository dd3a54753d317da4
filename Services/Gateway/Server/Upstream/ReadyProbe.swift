import NIOCore
import NIOHTTP1
import NIOPosix

/// Requests `/ready` from one instance over a separate connection.
enum ReadyProbe {
    enum Outcome: Sendable {
        case ready
        /// A status other than 200: the instance starts, stops, or lacks a dependency.
        case notReady
        case noResponse
    }

    static func probe(_ health: InstanceHealth, timeout: TimeAmount) async -> Outcome {
        // The future never fails; every failure is reported as no response.
        (try? await probe(health, timeout: timeout, on: MultiThreadedEventLoopGroup.singleton.next()).get())
            ?? .noResponse
    }

    static func probe(
        _ health: InstanceHealth,
        timeout: TimeAmount,
        on loop: any EventLoop
    ) -> EventLoopFuture<Outcome> {
        let outcome = loop.makePromise(of: Outcome.self)
        ClientBootstrap(group: loop)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(
                        ReadyProbeHandler(health: health, timeout: timeout, outcome: outcome)
                    )
                }
            }
            .connect(host: health.instance.host, port: health.instance.port)
            .whenFailure { _ in outcome.succeed(.noResponse) }
        return outcome.futureResult
    }
}

private final class ReadyProbeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let health: InstanceHealth
    private let timeout: TimeAmount
    private let outcome: EventLoopPromise<ReadyProbe.Outcome>
    private var result = ReadyProbe.Outcome.noResponse

    init(health: InstanceHealth, timeout: TimeAmount, outcome: EventLoopPromise<ReadyProbe.Outcome>) {
        self.health = health
        self.timeout = timeout
        self.outcome = outcome
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HTTPHeaders = ["host": health.instance.authority, "connection": "close"]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/ready", headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data) {
            result = head.status == .ok ? .ready : .notReady
            health.recordHistory(InstanceHistory(head.headers))
        }
        if case .end = Self.unwrapInboundIn(data) { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        outcome.succeed(result)
    }
}
