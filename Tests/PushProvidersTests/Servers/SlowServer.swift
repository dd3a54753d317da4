import NIOCore
import NIOHTTP2
import NIOSSL
import NIOTLS
import Synchronization

/// An HTTP/2 server over TLS that sends its settings late, and drops what the client sends after the handshake.
final class SlowServer: Sendable {
    private let ended = Atomic(0)

    /// The number of closed connections.
    var closedByClient: Int { ended.load(ordering: .relaxed) }

    /// Serves on a free port while `body` runs; settings are sent `pause` after the handshake.
    static func run<Value>(
        after pause: TimeAmount,
        _ body: (SlowServer, _ port: Int) async throws -> Value
    ) async throws -> Value {
        let server = SlowServer()
        let context = try TestAuthority.serverContext(protocols: ["h2"])
        return try await TestListener.run { channel in
            channel.closeFuture.whenComplete { _ in server.ended.wrappingAdd(1, ordering: .relaxed) }
            let gate = InboundGate()
            try channel.pipeline.syncOperations.addHandlers(
                gate,
                NIOSSLServerHandler(context: context),
                DelayedSettingsHandler(after: pause, gate)
            )
        } _: {
            try await body(server, $0)
        }
    }
}

/// Drops all input once it is closed.
private final class InboundGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var isClosed = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isClosed { context.fireChannelRead(data) }
    }
}

private final class DelayedSettingsHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let pause: TimeAmount
    private let gate: InboundGate

    init(after pause: TimeAmount, _ gate: InboundGate) {
        self.pause = pause
        self.gate = gate
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
        gate.isClosed = true
        let pipeline = NIOLoopBound(context.pipeline.syncOperations, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: pause) {
            // The handler sends its settings when it is added.
            try pipeline.value.addHandler(
                NIOHTTP2Handler(mode: .server, connectionConfiguration: .init(), streamConfiguration: .init())
            )
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
