import Metrics
import NIOCore
import NIOSSL
import NIOTLS
import TLSRecords

/// Waits for the end of a TLS handshake, then makes the connection ready for the protocol that was agreed on.
///
/// A client that takes too long for it is cut off.
final class Greeter: ChannelInboundHandler, RemovableChannelHandler, Watched {
    typealias InboundIn = ByteBuffer

    var place = -1
    private let loop: EdgeLoop
    private let entry: Entry
    private let began = NIODeadline.now()
    private var context: ChannelHandlerContext?

    init(loop: EdgeLoop, entry: Entry) {
        self.loop = loop
        self.entry = entry
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.watch(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        loop.unwatch(self)
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        context.read()
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let agreed) = event as? TLSUserEvent else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        do {
            if agreed == "h2" {
                try HTTP2Connection.install(in: context.channel, loop: loop, entry: entry)
            } else {
                try loop.serveHTTP1(context.channel, scheme: "https", entry: entry)
            }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        loop.counters.failedHandshakes.increment()
        context.close(promise: nil)
    }

    func check(_ now: NIODeadline) {
        guard now - began > loop.edge.configuration.headerTimeout else { return }
        loop.counters.failedHandshakes.increment()
        cutOff()
    }

    func drain() {
        cutOff()
    }

    func cutOff() {
        context?.close(promise: nil)
    }
}

extension EdgeLoop {
    /// Makes a connection ready for a handshake.
    func secure(_ channel: any Channel, with certificates: Certificates, entry: Entry) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: certificates.context))
        try pipeline.addHandler(RecordFiller())
        try pipeline.addHandler(Greeter(loop: self, entry: entry))
    }
}
