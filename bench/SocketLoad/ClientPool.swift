import Foundation
import NIOCore
import NIOPosix

/// All clients, on one event loop.
///
/// Unchecked: only that event loop accesses the pool.
final class ClientPool: @unchecked Sendable {
    /// The number of concurrent connection attempts.
    private static let together = 64

    let plan: Plan
    private let loop: any EventLoop
    private var listeners: [LoadSocket] = []
    private var senders: [LoadSocket] = []
    private var launched = 0
    private var connected = 0
    private var allConnected: EventLoopPromise<Void>?

    private var run: Run?

    init(plan: Plan, loop: any EventLoop) {
        self.plan = plan
        self.loop = loop
    }

    /// Ends the program with an error, because an incomplete measurement is invalid.
    static func fail(_ reason: String) -> Never {
        FileHandle.standardError.write(Data("socket-load: \(reason)\n".utf8))
        exit(1)
    }

    // MARK: Connecting

    func connect() -> EventLoopFuture<Void> {
        let promise = loop.makePromise(of: Void.self)
        allConnected = promise
        for _ in 0..<Self.together { launch() }
        return promise.futureResult
    }

    private func launch() {
        let number = launched
        guard number < plan.listeners + plan.senders else { return }
        launched += 1
        let isListener = number < plan.listeners
        let socket = LoadSocket(
            clientPool: self,
            connect: isListener ? String(plan.connects[number % plan.connects.count]) : "40",
            join: isListener ? plan.join : nil,
            ready: isListener ? plan.ready : nil
        )
        if isListener { listeners.append(socket) } else { senders.append(socket) }
        ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 65_536))
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(socket) }
            }
            .connect(host: "127.0.0.1", port: plan.port)
            .whenFailure { Self.fail("client \(number) cannot connect: \($0)") }
    }

    func isReady() {
        connected += 1
        launch()
        if connected == plan.listeners + plan.senders { allConnected?.succeed() }
    }

    // MARK: Load

    func run(_ load: Load) -> EventLoopFuture<String> {
        let run = Run(load: load, plan: plan, loop: loop, sockets: plan.senders > 0 ? senders : listeners)
        self.run = run
        return run.begin()
    }

    func received(_ count: Int) {
        run?.received(count)
    }

    func delayed(_ nanoseconds: UInt64) {
        run?.latencies.add(nanoseconds)
    }

    func acknowledged() {
        run?.acknowledged()
    }
}
