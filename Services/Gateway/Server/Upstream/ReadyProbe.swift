import NIOCore
import NIOHTTP1
import NIOPosix

/// Asks one instance whether it is ready, over a connection of its own.
enum ReadyProbe {
    enum Verdict: Sendable {
        case ready
        /// It answered, but not with 200: it starts, stops, or lacks what it needs.
        case notReady
        case noAnswer
    }

    static func ask(_ health: InstanceHealth, patience: TimeAmount) async -> Verdict {
        // The future never fails: whatever goes wrong is no answer.
        (try? await ask(health, patience: patience, on: MultiThreadedEventLoopGroup.singleton.next()).get())
            ?? .noAnswer
    }

    static func ask(
        _ health: InstanceHealth,
        patience: TimeAmount,
        on loop: any EventLoop
    ) -> EventLoopFuture<Verdict> {
        let verdict = loop.makePromise(of: Verdict.self)
        ClientBootstrap(group: loop)
            .connectTimeout(patience)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(
                        ReadyProbeHandler(health: health, patience: patience, verdict: verdict)
                    )
                }
            }
            .connect(host: health.instance.host, port: health.instance.port)
            .whenFailure { _ in verdict.succeed(.noAnswer) }
        return verdict.futureResult
    }
}

private final class ReadyProbeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let health: InstanceHealth
    private let patience: TimeAmount
    private let verdict: EventLoopPromise<ReadyProbe.Verdict>
    private var answer = ReadyProbe.Verdict.noAnswer

    init(health: InstanceHealth, patience: TimeAmount, verdict: EventLoopPromise<ReadyProbe.Verdict>) {
        self.health = health
        self.patience = patience
        self.verdict = verdict
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HTTPHeaders = ["host": health.instance.authority, "connection": "close"]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/ready", headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: patience) { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data) {
            answer = head.status == .ok ? .ready : .notReady
            health.noted(InstanceHistory(head.headers))
        }
        if case .end = Self.unwrapInboundIn(data) { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        verdict.succeed(answer)
    }
}
