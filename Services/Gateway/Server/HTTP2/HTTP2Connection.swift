import Metrics
import NIOCore
import NIOHTTP1
import NIOHTTP2
import TLSRecords

/// One client's HTTP/2 connection: opens a front for each of its streams, and watches over what no stream sees: that
/// it is idle, that it floods, that it has to end.
final class HTTP2Connection: ChannelInboundHandler, Watched {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Its PING says that the client has seen our first GOAWAY.
    private static let farewell = HTTP2PingData(withInteger: 0x726F_6F73_7462_7965)
    private static let patience = TimeAmount.seconds(2)

    private enum Stage {
        case serving
        /// The client was told to open no more streams, and those that it has opened meanwhile are served.
        case leaving(since: NIODeadline)
        /// The client was told which stream was the last one.
        case left
        case closed
    }

    var place = -1
    private let loop: EdgeLoop
    private let meter: FrameMeter
    private let peer: Origin
    private let entry: Entry
    private var stage = Stage.serving
    private var context: ChannelHandlerContext?
    private var openStreams = 0
    private var lastStream = HTTP2StreamID.rootStream
    private var idleSinceLastStream = NIODeadline.now()

    private init(loop: EdgeLoop, meter: FrameMeter, peer: Origin, entry: Entry) {
        self.loop = loop
        self.meter = meter
        self.peer = peer
        self.entry = entry
    }

    /// Makes what is inside a connection's TLS ready for HTTP/2.
    static func install(in channel: any Channel, loop: EdgeLoop, entry: Entry) throws {
        let configuration = loop.edge.configuration
        let meter = FrameMeter()
        let connection = HTTP2Connection(
            loop: loop,
            meter: meter,
            peer: Origin(of: channel, scheme: "https", trusting: configuration.trustedProxies),
            entry: entry
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
        try pipeline.handler(type: RecordFiller.self).gathersTurns = true
        try pipeline.addHandler(meter)
        try pipeline.addHandler(http2)
        try pipeline.addHandler(connection)
        // What its streams do not take yet waits with them, within their windows; the connection itself must be read,
        // or none of them would hear that its window was opened.
        try channel.syncOptions?.setOption(.autoRead, value: true)
        loop.counters.http2Connections.increment()
    }

    /// Makes a stream ready for its request.
    private func open(_ stream: any Channel) throws {
        openStreams += 1
        let id = try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        lastStream = max(lastStream, id ?? .rootStream)
        stream.closeFuture.assumeIsolated().whenComplete { _ in self.streamClosed() }
        try stream.syncOptions?.setOption(.autoRead, value: false)
        let pipeline = stream.pipeline.syncOperations
        try pipeline.addHandler(StreamCodec(fieldLimit: loop.edge.configuration.headerCountLimit))
        try pipeline.addHandler(
            FrontHandler(loop: loop, codec: nil, peer: peer, entry: entry)
        )
        // Its first request is told so, and no other comes.
        if entry.excess != nil { drain() }
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
        loop.watch(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        loop.unwatch(self)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        stage = .closed
        loop.unwatch(self)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .ping(Self.farewell, ack: true) = Self.unwrapInboundIn(data).payload, case .leaving = stage else {
            return
        }
        nameLastStream()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let flood as FrameMeter.Flood:
            write(.goAway(lastStreamID: lastStream, errorCode: .enhanceYourCalm, opaqueData: nil))
            context.flush()
            end(flood)
        case is any NIOHTTP2Error where !meter.hasComplained:
            // A single stream's, which has been reset.
            break
        default: end(error)
        }
    }

    /// Closes on a client that broke the rules, reading nothing more of what it sends.
    private func end(_ error: any Error) {
        guard let context, context.channel.isActive else { return }
        if meter.hasComplained || error is FrameMeter.Flood { loop.counters.http2Violations.increment() }
        // Only a channel that is gone refuses it.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.close(promise: nil)
    }

    // MARK: The end

    var idleSince: NIODeadline? {
        guard case .serving = stage, openStreams == 0 else { return nil }
        return idleSinceLastStream
    }

    var connectionKey: UInt64? { entry.key }

    func check(_ now: NIODeadline) {
        switch stage {
        case .serving where openStreams == 0 && now - idleSinceLastStream > loop.edge.configuration.idleTimeout: drain()
        case .leaving(let since) where now - since > Self.patience: nameLastStream()
        default: break
        }
    }

    /// Says good-bye, and closes when the last stream has ended.
    func drain() {
        guard case .serving = stage else { return }
        stage = .leaving(since: .now())
        // Some streams may be on their way to us: the first word is that there should be no more, the second, after a
        // round trip, which one was the last (RFC 9113, section 6.8).
        write(.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
        write(.ping(Self.farewell, ack: false))
        context?.flush()
    }

    private func nameLastStream() {
        stage = .left
        write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil))
        context?.flush()
        closeIfDone()
    }

    private func closeIfDone() {
        guard case .left = stage, openStreams == 0 else { return }
        // What the last stream wrote is flushed at the end of this turn.
        context?.eventLoop.assumeIsolated().execute { self.cutOff() }
    }

    func cutOff() {
        context?.close(promise: nil)
    }

    private func write(_ payload: HTTP2Frame.FramePayload) {
        context?.write(Self.wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
    }
}
