import NIOCore
import NIOSSL

/// A connection to the sandbox's mail server, which splits the input into lines and starts TLS.
final class SMTPHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let tls: NIOSSLContext
    private var session: SMTPSession
    private var buffer = ByteBuffer()
    private var isOver = false

    init(_ session: SMTPSession, tls: NIOSSLContext) {
        self.session = session
        self.tls = tls
    }

    func channelActive(context: ChannelHandlerContext) {
        reply(SMTPSession.greeting, in: context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Self.unwrapInboundIn(data)
        buffer.writeBuffer(&bytes)
        while !isOver, let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            let view = buffer.readableBytesView
            let line = view[view.startIndex..<end]
            buffer.moveReaderIndex(forwardBy: end - view.startIndex + 1)
            // Servers disagree about other line ends, which allows SMTP smuggling.
            guard line.last == UInt8(ascii: "\r"), !line.dropLast().contains(UInt8(ascii: "\r")) else {
                return close("500 5.5.2 a line must end with CR LF", in: context)
            }
            guard line.count + 1 <= session.limit else { return close("500 5.5.6 the line is too long", in: context) }
            perform(on: session.process(String(decoding: line.dropLast(), as: UTF8.self)), in: context)
        }
        if !isOver, buffer.readableBytes > session.limit { close("500 5.5.6 the line is too long", in: context) }
        buffer.discardReadBytes()
    }

    private func perform(on step: SMTPSession.Step, in context: ChannelHandlerContext) {
        switch step {
        case .noReply: break
        case .reply(let text): reply(text, in: context)
        case .close(let text): close(text, in: context)
        case .reset:
            isOver = true
            context.close(promise: nil)
        case .encrypt(let text): encrypt(text, in: context)
        }
    }

    private func encrypt(_ text: String, in context: ChannelHandlerContext) {
        // Bytes after the command arrived in cleartext, so an attacker could have injected them (RFC 3207, section 6).
        guard buffer.readableBytes == 0 else { return close("501 5.5.4 no data may follow STARTTLS", in: context) }
        reply(text, in: context)
        session.beginEncryption()
        do {
            try context.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls), position: .first)
        } catch {
            context.close(promise: nil)
        }
    }

    private func reply(_ text: String, in context: ChannelHandlerContext) {
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: "\(text)\r\n")), promise: nil)
    }

    private func close(_ text: String, in context: ChannelHandlerContext) {
        isOver = true
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { [channel = context.channel] _ in channel.close(promise: nil) }
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: "\(text)\r\n")), promise: written)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
