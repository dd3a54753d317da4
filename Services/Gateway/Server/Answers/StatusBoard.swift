import NIOCore
import NIOHTTP1
import NIOPosix

/// Which services are up, asked of each at most once a second however many want to know.
actor StatusBoard {
    struct Report: Encodable, Sendable {
        struct Service: Encodable, Sendable {
            let name: String
            /// `up`, `degraded` where some instances are not, `down`.
            let status: String
            let instances: Int
            let ready: Int
        }

        let status: String
        let services: [Service]
    }

    private static let lifetime = TimeAmount.seconds(1)

    private let services: [UpstreamService]
    private var latest: (report: Report, read: NIODeadline)?
    private var underway: Task<Report, Never>?

    init(services: [UpstreamService]) {
        self.services = services
    }

    func read() async -> Report {
        if let latest, .now() - latest.read < Self.lifetime { return latest.report }
        if let underway { return await underway.value }
        let services = services
        let task = Task { await Self.ask(services) }
        underway = task
        let report = await task.value
        underway = nil
        latest = (report, .now())
        return report
    }

    private static func ask(_ services: [UpstreamService]) async -> Report {
        let ready = await withTaskGroup(of: (Int, Bool).self) { group in
            for (index, service) in services.enumerated() {
                for instance in service.instances {
                    group.addTask { (index, await ReadyProbe.isReady(instance)) }
                }
            }
            var ready = services.map { _ in 0 }
            for await (index, isReady) in group where isReady { ready[index] += 1 }
            return ready
        }
        let reports = zip(services, ready).map { service, ready in
            let all = service.instances.count
            let status = ready == all ? "up" : ready == 0 ? "down" : "degraded"
            return Report.Service(name: service.name, status: status, instances: all, ready: ready)
        }
        return Report(
            status: reports.allSatisfy { $0.status == "up" } ? "up" : "degraded",
            services: reports
        )
    }
}

/// Asks one instance whether it is ready.
enum ReadyProbe {
    private static let patience = TimeAmount.seconds(1)

    static func isReady(_ instance: UpstreamInstance) async -> Bool {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let verdict = loop.makePromise(of: Bool.self)
        ClientBootstrap(group: loop)
            .connectTimeout(patience)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(
                        ReadyProbeHandler(authority: instance.authority, patience: patience, verdict: verdict)
                    )
                }
            }
            .connect(host: instance.host, port: instance.port)
            .whenFailure { _ in verdict.succeed(false) }
        // The promise never fails: whatever goes wrong is a "no".
        return (try? await verdict.futureResult.get()) ?? false
    }
}

private final class ReadyProbeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let authority: String
    private let patience: TimeAmount
    private let verdict: EventLoopPromise<Bool>
    private var answer = false

    init(authority: String, patience: TimeAmount, verdict: EventLoopPromise<Bool>) {
        self.authority = authority
        self.patience = patience
        self.verdict = verdict
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HTTPHeaders = ["host": authority, "connection": "close"]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/ready", headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: patience) { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data) { answer = head.status == .ok }
        if case .end = Self.unwrapInboundIn(data) { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        verdict.succeed(answer)
    }
}
