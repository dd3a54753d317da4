import Metrics
import NIOCore
import NIOHTTP1
import NIOHTTP2
import TLSRecords

/// One client's HTTP/2 connection.
///
/// The handler creates a `ProxyHandler` for each stream. It also enforces what no single stream can observe: idle time,
/// floods and the shutdown.
final class HTTP2Connection: ChannelInboundHandler, ManagedConnection {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// The acknowledgement of this PING proves that the client has received the first GOAWAY.
    private static let goAwayPing = HTTP2PingData(withInteger: 0x726F_6F73_7462_7965)
    private static let goAwayTimeout = TimeAmount.seconds(2)

    private enum Stage {
        case serving
        /// The client received the first GOAWAY; streams that it had already opened are served.
        case draining(since: NIODeadline)
        /// The client received the GOAWAY with the number of the last stream.
        case drained
        case closed
    }

    var listIndex = -1
    private let loop: GatewayLoop
    private let meter: FrameMeter
    private let peer: Origin
    private let admission: ConnectionAdmission
    private var stage = Stage.serving
    private var context: ChannelHandlerContext?
    private var openStreams = 0
    private var lastStream = HTTP2StreamID.rootStream
    private var idleSinceLastStream = NIODeadline.now()

    private init(loop: GatewayLoop, meter: FrameMeter, peer: Origin, admission: ConnectionAdmission) {
        self.loop = loop
        self.meter = meter
        self.peer = peer
        self.admission = admission
    }

    static func install(in channel: any Channel, loop: GatewayLoop, admission: ConnectionAdmission) throws {
        let configuration = loop.state.configuration
        let meter = FrameMeter()
        let connection = HTTP2Connection(
            loop: loop,
            meter: meter,
            peer: Origin(of: channel, scheme: "https", trusting: configuration.trustedProxies),
            admission: admission
        )
        let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        let http2 = NIOHTTP2Handler(
            mode: .server,
            eventLoop: channel.eventLoop,
            connectionConfiguration: .init(gateway: configuration),
            streamConfiguration: .bounded
        ) { stream in
            stream.eventLoop.makeCompletedFuture { try bound.value.open(stream) }
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.handler(type: TLSRecordBatcher.self).gathersTurns = true
        try pipeline.addHandler(meter)
        try pipeline.addHandler(http2)
        try pipeline.addHandler(connection)
        // Each stream buffers the data that its service does not accept yet, within the stream's window. The connection
        // itself must always be read, or no stream would receive its WINDOW_UPDATE frames.
        try channel.syncOptions?.setOption(.autoRead, value: true)
        loop.counters.http2Connections.increment()
    }

    private func open(_ stream: any Channel) throws {
        openStreams += 1
        let id = try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        lastStream = max(lastStream, id ?? .rootStream)
        stream.closeFuture.assumeIsolated().whenComplete { _ in self.streamClosed() }
        try stream.syncOptions?.setOption(.autoRead, value: false)
        let pipeline = stream.pipeline.syncOperations
        try pipeline.addHandler(StreamCodec(fieldLimit: loop.state.configuration.headerCountLimit))
        try pipeline.addHandler(
            ProxyHandler(loop: loop, codec: nil, peer: peer, admission: admission)
        )
        // The first request receives the limit error, and no further stream is accepted.
        if admission.limitError != nil { drain() }
    }

    private func streamClosed() {
        openStreams -= 1
        guard openStreams == 0 else { return }
        idleSinceLastStream = .now()
        closeIfDone()
    }

    // MARK: The connection

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.track(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        loop.untrack(self)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        stage = .closed
        loop.untrack(self)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .ping(Self.goAwayPing, ack: true) = Self.unwrapInboundIn(data).payload, case .draining = stage else {
            return
        }
        sendFinalGoAway()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let flood as FrameMeter.FrameFlood:
            write(.goAway(lastStreamID: lastStream, errorCode: .enhanceYourCalm, opaqueData: nil))
            context.flush()
            end(flood)
        case is any NIOHTTP2Error where !meter.hasSentError:
            // The error of one stream, which the HTTP/2 handler has reset.
            break
        default: end(error)
        }
    }

    /// Closes the connection of a client that broke the rules, and reads nothing more from it.
    private func end(_ error: any Error) {
        guard let context, context.channel.isActive else { return }
        if meter.hasSentError || error is FrameMeter.FrameFlood { loop.counters.http2Violations.increment() }
        // Setting the option fails only on a closed channel.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.close(promise: nil)
    }

    // MARK: The end

    var idleSince: NIODeadline? {
        guard case .serving = stage, openStreams == 0 else { return nil }
        return idleSinceLastStream
    }

    var connectionKey: UInt64? { admission.key }

    func check(_ now: NIODeadline) {
        switch stage {
        case .serving where openStreams == 0 && now - idleSinceLastStream > loop.state.configuration.idleTimeout:
            drain()
        case .draining(let since) where now - since > Self.goAwayTimeout: sendFinalGoAway()
        default: break
        }
    }

    /// Sends GOAWAY, and closes the connection after the last stream.
    func drain() {
        guard case .serving = stage else { return }
        stage = .draining(since: .now())
        // Some streams may still be in transit. The first GOAWAY forbids new streams; the second, after a round trip,
        // names the last stream (RFC 9113, section 6.8).
        write(.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
        write(.ping(Self.goAwayPing, ack: false))
        context?.flush()
    }

    private func sendFinalGoAway() {
        stage = .drained
        write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil))
        context?.flush()
        closeIfDone()
    }

    private func closeIfDone() {
        guard case .drained = stage, openStreams == 0 else { return }
        // The data of the last stream is flushed at the end of this turn of the event loop.
        context?.eventLoop.assumeIsolated().execute { self.closeNow() }
    }

    func closeNow() {
        context?.close(promise: nil)
    }

    private func write(_ payload: HTTP2Frame.FramePayload) {
        context?.write(Self.wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
    }
}
