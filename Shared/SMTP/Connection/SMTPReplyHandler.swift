import NIOCore
import NIOSSL

/// The channel handler that reads replies, each for the one waiting command.
///
/// After a failure, every further call fails with the same error.
final class SMTPReplyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var buffer = ByteBuffer()
    private var parser = SMTPReplyParser()
    private var waiting: EventLoopPromise<SMTPReply>?
    private var timeout: Scheduled<Void>?
    /// A reply that arrived before a command waited for it: the greeting, or a closing message.
    private var early: SMTPReply?
    /// The first error of the connection.
    private(set) var failure: SMTPError?

    /// Returns the next reply.
    func next(within limit: TimeAmount, in context: ChannelHandlerContext) -> EventLoopFuture<SMTPReply> {
        let promise = context.eventLoop.makePromise(of: SMTPReply.self)
        if let reply = early {
            early = nil
            promise.succeed(reply)
        } else if let failure {
            promise.fail(failure)
        } else {
            waiting = promise
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            timeout = context.eventLoop.scheduleTask(in: limit) {
                let (handler, context) = bound.value
                handler.fail(.unreachable("the server did not answer in time"), in: context)
            }
        }
        return promise.futureResult
    }

    /// Whether no unexpected data has arrived.
    ///
    /// This must hold before TLS starts: otherwise data that an attacker injected would count as sent by the server
    /// (CVE-2011-0411).
    var hasNoPendingData: Bool { early == nil && buffer.readableBytes == 0 && !parser.isInside && failure == nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Self.unwrapInboundIn(data)
        buffer.writeBuffer(&bytes)
        do {
            while let line = nextLine() {
                guard let reply = try parser.parse(line) else { continue }
                try deliver(reply)
            }
            guard buffer.readableBytes <= SMTPReplyParser.maximumLine else { throw SMTPError.notSMTP }
            buffer.discardReadBytes()
        } catch {
            fail(error as? SMTPError ?? .notSMTP, in: context)
        }
    }

    private func nextLine() -> ByteBufferView? {
        let view = buffer.readableBytesView
        guard let end = view.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        buffer.moveReaderIndex(forwardBy: end - view.startIndex + 1)
        let line = view[view.startIndex..<end]
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }

    private func deliver(_ reply: SMTPReply) throws {
        guard let promise = waiting else {
            guard early == nil else { throw SMTPError.notSMTP }
            early = reply
            return
        }
        waiting = nil
        timeout?.cancel()
        promise.succeed(reply)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            fail(.insecure("the TLS handshake failed"), in: context)
        default: fail(.unreachable("the connection failed"), in: context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.unreachable("the server closed the connection"), in: context)
        context.fireChannelInactive()
    }

    private func fail(_ error: SMTPError, in context: ChannelHandlerContext) {
        if failure == nil { failure = error }
        timeout?.cancel()
        let promise = waiting
        waiting = nil
        promise?.fail(failure ?? error)
        context.close(promise: nil)
    }
}
