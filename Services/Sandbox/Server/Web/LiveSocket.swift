import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// A WebSocket over which a network sends events.
struct LiveSocket: Sendable {
    /// Opens the socket.
    ///
    /// Messages to the client go through `send`, and the result receives the client's messages.
    let open: @Sendable (_ send: @escaping @Sendable (String) -> Void) -> LiveSocketEnd

    /// Upgrades a connection to a WebSocket (RFC 6455, section 4.2.2).
    func upgrade(_ context: ChannelHandlerContext, from head: HTTPRequestHead, handler: WebHandler) {
        let key = head.headers.first(name: "sec-websocket-key") ?? ""
        let digest = Insecure.SHA1.hash(data: Data("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
        let headers: HTTPHeaders = [
            "upgrade": "websocket", "connection": "Upgrade",
            "sec-websocket-accept": Data(digest).base64EncodedString(),
        ]
        let response = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: headers)
        context.write(WebHandler.wrapOutboundOut(.head(response)), promise: nil)
        context.writeAndFlush(WebHandler.wrapOutboundOut(.end(nil))).assumeIsolated().whenSuccess {
            do {
                try Self.removeHTTP(from: context.pipeline.syncOperations)
                let pipeline = context.pipeline.syncOperations
                try pipeline.addHandler(WebSocketFrameEncoder())
                try pipeline.addHandler(ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1 << 16)))
                try pipeline.addHandler(LiveSocketHandler(self))
                pipeline.removeHandler(handler, promise: nil)
            } catch {
                context.close(promise: nil)
            }
        }
    }

    private static func removeHTTP(from pipeline: ChannelPipeline.SynchronousOperations) throws {
        let contexts = [
            try? pipeline.context(handlerType: HTTPServerPipelineHandler.self),
            try? pipeline.context(handlerType: HTTPServerProtocolErrorHandler.self),
            try? pipeline.context(handlerType: NIOHTTPResponseHeadersValidator.self),
            try? pipeline.context(handlerType: HTTPResponseEncoder.self),
            try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self),
        ]
        for context in contexts.compactMap(\.self) { pipeline.removeHandler(context: context, promise: nil) }
    }
}

struct LiveSocketEnd: Sendable {
    let receive: @Sendable (String) -> Void
    let close: @Sendable () -> Void
}

extension WebHandler: RemovableChannelHandler {}

/// Handles the frames of a WebSocket: text in both directions, and pings.
final class LiveSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let socket: LiveSocket
    private var end: LiveSocketEnd?

    init(_ socket: LiveSocket) {
        self.socket = socket
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        end = socket.open { text in
            channel.eventLoop.execute {
                guard channel.isActive else { return }
                let frame = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text))
                channel.writeAndFlush(frame, promise: nil)
            }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text: end?.receive(String(buffer: frame.unmaskedData))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
            context.writeAndFlush(Self.wrapOutboundOut(pong), promise: nil)
        case .connectionClose:
            let close = WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData)
            let channel = context.channel
            context.writeAndFlush(Self.wrapOutboundOut(close)).whenComplete { _ in channel.close(promise: nil) }
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end?.close()
        end = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
