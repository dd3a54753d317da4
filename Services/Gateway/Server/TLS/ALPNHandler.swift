import Metrics
import NIOCore
import NIOSSL
import NIOTLS
import TLSRecords

/// Waits for the TLS handshake, then sets up the connection for the negotiated protocol.
///
/// A client that exceeds `headerTimeout` is disconnected.
final class ALPNHandler: ChannelInboundHandler, RemovableChannelHandler, ManagedConnection {
    typealias InboundIn = ByteBuffer

    var listIndex = -1
    private let loop: GatewayLoop
    private let admission: ConnectionAdmission
    private let began = NIODeadline.now()
    private var context: ChannelHandlerContext?

    init(loop: GatewayLoop, admission: ConnectionAdmission) {
        self.loop = loop
        self.admission = admission
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.track(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        loop.untrack(self)
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
                try HTTP2Connection.install(in: context.channel, loop: loop, admission: admission)
            } else {
                try loop.serveHTTP1(context.channel, scheme: "https", admission: admission)
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
        guard now - began > loop.state.configuration.headerTimeout else { return }
        loop.counters.failedHandshakes.increment()
        closeNow()
    }

    func drain() {
        closeNow()
    }

    func closeNow() {
        context?.close(promise: nil)
    }
}

extension GatewayLoop {
    func secure(_ channel: any Channel, with certificates: ServerCertificate, admission: ConnectionAdmission) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: certificates.context))
        try pipeline.addHandler(TLSRecordBatcher())
        try pipeline.addHandler(ALPNHandler(loop: self, admission: admission))
    }
}
