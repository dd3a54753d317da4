import NIOCore

/// Two connected channels that forward bytes, backpressure and half-closes to each other.
final class Tunnel: ManagedConnection {
    var listIndex = -1
    let client = TunnelHandler()
    let service = TunnelHandler()
    private let loop: GatewayLoop
    private let upstream: UpstreamHandler
    fileprivate var lastActivity = NIODeadline.now()

    init(loop: GatewayLoop, upstream: UpstreamHandler) {
        self.loop = loop
        self.upstream = upstream
        client.join(self, to: service)
        service.join(self, to: client)
        loop.track(self)
    }

    fileprivate func closed(_ side: TunnelHandler) {
        if side === service { upstream.pool.forget(upstream) }
        if client.isClosed && service.isClosed { loop.untrack(self) }
    }

    func check(_ now: NIODeadline) {
        if now - lastActivity > loop.state.configuration.streamIdleTimeout { closeNow() }
    }

    func drain() {
        closeNow()
    }

    func closeNow() {
        client.close()
        service.close()
    }
}

/// One end of a tunnel, installed as the first handler so that no other handler receives further bytes.
final class TunnelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private(set) var isClosed = false
    private var tunnel: Tunnel?
    private var partner: TunnelHandler?
    private var context: ChannelHandlerContext?
    private var isStarted = false
    /// Bytes that arrived before the old decoder delivered its unread bytes.
    private var held = ByteBuffer()
    private var hasEnded = false

    fileprivate func join(_ tunnel: Tunnel, to partner: TunnelHandler) {
        self.tunnel = tunnel
        self.partner = partner
    }

    /// Installs this end before all other handlers, except TLS.
    func install(in channel: any Channel, ahead first: some ChannelHandler) throws {
        try channel.pipeline.syncOperations.addHandler(self, position: .before(first))
        // Without this option, the end of input would close both directions.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    }

    /// Starts to forward, beginning with the decoder's unread bytes.
    func start(after leftover: ByteBuffer?) {
        guard !isStarted else { return }
        isStarted = true
        if let leftover { partner?.send(leftover) }
        if held.readableBytes > 0 { partner?.send(held) }
        held = ByteBuffer()
        partner?.context?.flush()
        if isClosed {
            end()
        } else if hasEnded {
            partner?.finish()
        } else {
            context?.read()
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Self.unwrapInboundIn(data)
        if isStarted { partner?.send(bytes) } else { held.writeBuffer(&bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard isStarted, let other = partner?.context else { return }
        tunnel?.lastActivity = .now()
        other.flush()
        // A side that accepts no more data pauses the other side until it is writable again.
        if other.channel.isWritable { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, let partner, partner.isStarted { partner.context?.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(ChannelEvent.inputClosed) = event as? ChannelEvent else { return }
        hasEnded = true
        if isStarted { partner?.finish() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        if isStarted { end() }
    }

    private func end() {
        partner?.closeWhenSent()
        tunnel?.closed(self)
        tunnel = nil
        partner = nil
    }

    private func send(_ bytes: ByteBuffer) {
        context?.write(Self.wrapOutboundOut(bytes), promise: nil)
    }

    private func finish() {
        context?.close(mode: .output, promise: nil)
    }

    func close() {
        context?.close(promise: nil)
    }

    private func closeWhenSent() {
        guard let context, !isClosed else { return }
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in self.close() }
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer()), promise: promise)
    }
}
