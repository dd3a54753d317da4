import NIOCore
import NIOHTTP2
import NIOSSL
import NIOTLS

/// A server of HTTP/2 over TLS whose first settings come late, and which does not hear that its client leaves meanwhile.
enum LateServer {
    /// Serves on a free port while `body` runs; settings go out so long after the handshake.
    static func run<Value>(after pause: TimeAmount, _ body: (_ port: Int) async throws -> Value) async throws -> Value {
        let context = try TestAuthority.serverContext(protocols: ["h2"])
        return try await Listening.run { channel in
            let ears = Ears()
            try channel.pipeline.syncOperations.addHandlers(
                ears,
                NIOSSLServerHandler(context: context),
                LateGreeting(after: pause, ears)
            )
        } _: {
            try await body($0)
        }
    }
}

/// Lets nothing through once it is shut.
private final class Ears: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var areShut = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !areShut { context.fireChannelRead(data) }
    }
}

private final class LateGreeting: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let pause: TimeAmount
    private let ears: Ears

    init(after pause: TimeAmount, _ ears: Ears) {
        self.pause = pause
        self.ears = ears
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
        ears.areShut = true
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
