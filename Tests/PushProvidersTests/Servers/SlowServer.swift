import NIOCore
import NIOHTTP2
import NIOSSL
import NIOTLS
import Synchronization

/// A server of HTTP/2 over TLS whose first settings come late, and which does not hear what its client says meanwhile.
final class SlowServer: Sendable {
    private let ended = Atomic(0)

    /// Connections that their clients have closed.
    var closedByClient: Int { ended.load(ordering: .relaxed) }

    /// Serves on a free port while `body` runs; settings go out so long after the handshake.
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

/// Lets nothing through once it is shut.
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
            // It says its settings as it is put there.
            try pipeline.value.addHandler(
                NIOHTTP2Handler(mode: .server, connectionConfiguration: .init(), streamConfiguration: .init())
            )
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
