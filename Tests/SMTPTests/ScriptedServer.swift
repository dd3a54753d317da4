import NIOCore
import NIOPosix
import Synchronization

/// A server with scripted replies, which may break SMTP or be another protocol.
final class ScriptedServer: Sendable {
    /// The reply to the next line that starts with `line`; each exchange is used once.
    ///
    /// An empty reply closes the connection.
    struct Exchange: Sendable {
        var line: String
        var answer: String

        init(_ line: String, _ answer: String) {
            self.line = line
            self.answer = answer
        }
    }

    /// The lines that the server received.
    var received: [String] { state.withLock { $0 } }
    private let state = Mutex<[String]>([])

    /// Sends `greeting`, then the replies of `exchanges` in order.
    static func run(
        greeting: String = "220 here\r\n",
        _ exchanges: [Exchange],
        _ body: (ScriptedServer, Int) async throws -> Void
    ) async throws {
        let server = ScriptedServer()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Responder(server, greeting, exchanges))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        do {
            try await body(server, channel.localAddress?.port ?? 0)
        } catch {
            try await channel.close()
            throw error
        }
        try await channel.close()
    }

    fileprivate func record(_ line: String) { state.withLock { $0.append(line) } }
}

private final class Responder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: ScriptedServer
    private let greeting: String
    private var exchanges: [ScriptedServer.Exchange]
    private var text = ""

    init(_ server: ScriptedServer, _ greeting: String, _ exchanges: [ScriptedServer.Exchange]) {
        self.server = server
        self.greeting = greeting
        self.exchanges = exchanges
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: greeting)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: Self.unwrapInboundIn(data))
        // CRLF is one character in Swift.
        while let end = text.firstIndex(of: "\r\n") {
            let line = String(text[..<end])
            text = String(text[text.index(after: end)...])
            server.record(line)
            guard let turn = exchanges.first, line.hasPrefix(turn.line) else { continue }
            exchanges.removeFirst()
            guard !turn.answer.isEmpty else { return context.close(promise: nil) }
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: turn.answer)), promise: nil)
        }
    }
}
