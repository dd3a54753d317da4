import NIOCore
import NIOPosix
import SocketIO
import Synchronization

/// An acknowledgement that a test sends later.
final class HeldAcknowledgement: Sendable {
    private let acknowledgement = Mutex<SocketAcknowledgement?>(nil)
    private let holding = AsyncStream.makeStream(of: Void.self)

    func hold(_ acknowledgement: SocketAcknowledgement?) {
        self.acknowledgement.withLock { $0 = acknowledgement }
        holding.continuation.yield()
    }

    func held() async throws {
        for await _ in holding.stream { return }
    }

    func release(_ json: String) {
        acknowledgement.withLock { $0 }?(json: json)
    }
}

/// A server that accepts one WebSocket and its namespace, and then sends nothing more.
struct SilentServer: Sendable {
    let port: Int
    private let channel: any Channel

    static func start() async throws -> SilentServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SilentHandler())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return SilentServer(port: channel.localAddress?.port ?? 0, channel: channel)
    }

    func stop() async throws {
        try await channel.close()
    }
}

private final class SilentHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isOpen = false
    private var request = ""

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOpen else { return }
        request += String(buffer: unwrapInboundIn(data))
        guard request.hasSuffix("\r\n\r\n") else { return }
        isOpen = true
        let key =
            request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }?
            .split(separator: " ").last.map(String.init) ?? ""
        var response = ByteBuffer()
        response.writeString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n")
        response.writeString("Sec-WebSocket-Accept: \(webSocketAccept(key))\r\n\r\n")
        for text in [
            #"0{"sid":"a","upgrades":[],"pingInterval":100,"pingTimeout":50,"maxPayload":99}"#, #"40{"sid":"b"}"#,
        ] {
            response.writeMultipleIntegers(UInt8(0x81), UInt8(text.utf8.count))
            response.writeString(text)
        }
        context.writeAndFlush(wrapOutboundOut(response), promise: nil)
    }
}
