import NIOCore

/// Two connections glued together, with a pause and a half-close passed on from one to the other.
final class Tunnel: Watched {
    var place = -1
    let client = TunnelHandler()
    let service = TunnelHandler()
    private let loop: EdgeLoop
    private let upstream: UpstreamHandler
    fileprivate var lastActivity = NIODeadline.now()

    init(loop: EdgeLoop, upstream: UpstreamHandler) {
        self.loop = loop
        self.upstream = upstream
        client.join(self, to: service)
        service.join(self, to: client)
        loop.watch(self)
    }

    /// One side is gone.
    fileprivate func closed(_ side: TunnelHandler) {
        if side === service { upstream.pool.forget(upstream) }
        if client.isClosed && service.isClosed { loop.unwatch(self) }
    }

    func check(_ now: NIODeadline) {
        if now - lastActivity > loop.edge.configuration.silenceTimeout { cutOff() }
    }

    func drain() {
        cutOff()
    }

    func cutOff() {
        client.close()
        service.close()
    }
}

/// One end of a tunnel.
final class TunnelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private(set) var isClosed = false
    private var tunnel: Tunnel?
    private var partner: TunnelHandler?
    private var context: ChannelHandlerContext?
    /// What is for this end, while it is not in its place yet.
    private var early = ByteBuffer()

    fileprivate func join(_ tunnel: Tunnel, to partner: TunnelHandler) {
        self.tunnel = tunnel
        self.partner = partner
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // Without the option the end of input would close both directions; a connection that is gone needs neither.
        try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        guard context.channel.isActive else {
            channelInactive(context: context)
            return
        }
        if early.readableBytes > 0 { context.writeAndFlush(Self.wrapOutboundOut(early), promise: nil) }
        early.clear()
        if partner?.isClosed ?? true {
            closeWhenSent()
        } else if partner?.context != nil {
            context.read()
            partner?.context?.read()
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    /// Takes what this side had sent before this handler was in its place.
    func take(_ bytes: ByteBuffer) {
        partner?.send(bytes)
        partner?.context?.flush()
    }

    private func send(_ bytes: ByteBuffer) {
        if let context {
            context.write(Self.wrapOutboundOut(bytes), promise: nil)
        } else if !isClosed {
            early.writeImmutableBuffer(bytes)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partner?.send(Self.unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        tunnel?.lastActivity = .now()
        guard let other = partner?.context else { return }
        other.flush()
        // A side that does not take more stops the other, until it is writable again.
        if other.channel.isWritable { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { partner?.context?.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(ChannelEvent.inputClosed) = event as? ChannelEvent {
            partner?.context?.close(mode: .output, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard !isClosed else { return }
        isClosed = true
        partner?.closeWhenSent()
        tunnel?.closed(self)
        tunnel = nil
        partner = nil
    }

    fileprivate func close() {
        context?.close(promise: nil)
    }

    /// Closes once what was written is on its way.
    private func closeWhenSent() {
        guard let context, !isClosed else { return }
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in self.close() }
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer()), promise: promise)
    }
}
