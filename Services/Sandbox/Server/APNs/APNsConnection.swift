import NIOCore
import NIOHPACK
import NIOHTTP2
import Wire

/// A provider's HTTP/2 connection to APNs.
///
/// It handles frames itself, because a channel per stream would cost more than everything else. Like Apple's servers,
/// it allows one stream until it accepts a provider token, then 1,000, and one again after a refused token.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private static let streamLimit = 1_000
    /// The flow-control window of the connection, in bytes.
    private static let window = 1_024 * 1_024
    /// How long the client may keep the connection open after GOAWAY.
    private static let closeDelay = TimeAmount.seconds(2)

    private enum Stream {
        case reading(APNsRequest, body: ByteBuffer)
        /// The request is complete and its response is delayed.
        case waiting
    }

    private let apns: APNs
    private let environment: AppleEnvironment
    private var session = ProviderTokens.Session()
    private var streams: [HTTP2StreamID: Stream] = [:]
    private var allowedStreams = 1
    /// Received body bytes that no WINDOW_UPDATE frame has returned to the client yet.
    private var consumed = 0
    private var hasSentGoAway = false

    init(apns: APNs, environment: AppleEnvironment) {
        self.apns = apns
        self.environment = environment
    }

    /// Adds the HTTP/2 handlers to a channel whose TLS handshake is complete.
    static func install(in channel: any Channel, apns: APNs, environment: AppleEnvironment) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16 * 1_024),
            HTTP2Setting(parameter: .headerTableSize, value: 4_096),
        ]
        // High limits: tests send many keepalive PINGs and cancel many requests, which NIOHTTP2 would treat as an
        // attack.
        connection.controlFrameRateLimit.maximumCount = 10_000
        // Frames that are in flight when the sandbox sends GOAWAY count as glitches.
        connection.maximumConnectionGlitches = 10_000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = 100_000
        stream.streamErrorRateLimit.maximumCount = 10_000
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
            NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
        )
        try pipeline.addHandler(APNsConnection(apns: apns, environment: environment))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        write(.rootStream, .windowUpdate(windowSizeIncrement: Self.window), in: context)
        context.flush()
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let block):
            // Trailers are ignored.
            if streams[frame.streamID] == nil {
                streams[frame.streamID] = .reading(APNsRequest(block.headers), body: ByteBuffer())
            }
            // A client that does not acknowledge our SETTINGS could open any number of streams.
            guard streams.count <= 2 * Self.streamLimit else { return context.close(promise: nil) }
            if block.endStream { finish(frame.streamID, in: context) }
        case .data(let block):
            read(block, of: frame.streamID, in: context)
        default: break
        }
    }

    private func read(_ block: HTTP2Frame.FramePayload.Data, of id: HTTP2StreamID, in context: ChannelHandlerContext) {
        consumed += block.data.readableBytes + (block.paddingBytes.map { $0 + 1 } ?? 0)
        if consumed >= Self.window / 4 {
            write(.rootStream, .windowUpdate(windowSizeIncrement: consumed), in: context)
            consumed = 0
        }
        guard case .reading(let request, var body) = streams[id], case .byteBuffer(var bytes) = block.data else {
            return
        }
        if body.readableBytes > APNsPushType.largestPayload {
            // The connection reads an oversized body to its end, as clients expect, but does not store the rest.
            if bytes.readableBytes > 0, !block.endStream {
                write(id, .windowUpdate(windowSizeIncrement: bytes.readableBytes), in: context)
            }
        } else if body.readableBytes == 0 {
            streams[id] = .reading(request, body: bytes)
        } else {
            // Clearing the dictionary's entry leaves one reference to the buffer, so that appending does not copy it.
            streams[id] = .waiting
            body.writeBuffer(&bytes)
            streams[id] = .reading(request, body: body)
        }
        if block.endStream { finish(id, in: context) }
    }

    private func finish(_ id: HTTP2StreamID, in context: ChannelHandlerContext) {
        guard case .reading(let request, let body) = streams.removeValue(forKey: id), !hasSentGoAway else { return }
        let outcome = apns.validate(request, body: body, environment: environment, session: &session)
        guard let delay = outcome.delay else {
            perform(on: outcome, for: id, in: context)
            return
        }
        streams[id] = .waiting
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let later = NIOLoopBound(outcome, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: delay) {
            let (connection, context) = bound.value
            // The client may have cancelled the request during the delay.
            guard connection.streams.removeValue(forKey: id) != nil else { return }
            connection.perform(on: later.value, for: id, in: context)
            context.flush()
        }
    }

    // MARK: Responses

    private func perform(on outcome: APNs.Outcome, for id: HTTP2StreamID, in context: ChannelHandlerContext) {
        switch outcome.action {
        case .accepted:
            allow(Self.streamLimit, in: context)
            var headers = HPACKHeaders()
            headers.add(name: ":status", value: "200")
            headers.add(name: "apns-id", value: outcome.id, indexing: .nonIndexable)
            if environment == .sandbox {
                headers.add(name: "apns-unique-id", value: outcome.id, indexing: .nonIndexable)
            }
            write(id, .headers(.init(headers: headers, endStream: true)), in: context)
        case .refused(let status, let reason, let timestamp, let retryAfter):
            if status == 403 { allow(1, in: context) }
            var headers = HPACKHeaders()
            headers.add(name: ":status", value: String(status))
            headers.add(name: "apns-id", value: outcome.id, indexing: .nonIndexable)
            if let retryAfter { headers.add(name: "retry-after", value: String(retryAfter)) }
            let time = timestamp.map { #","timestamp":\#($0)"# } ?? ""
            let body = ByteBuffer(string: #"{"reason":\#(JSONParser.quoted(reason))\#(time)}"#)
            headers.add(name: "content-type", value: "application/json; charset=utf-8")
            headers.add(name: "content-length", value: String(body.readableBytes), indexing: .nonIndexable)
            write(id, .headers(.init(headers: headers, endStream: false)), in: context)
            write(id, .data(.init(data: .byteBuffer(body), endStream: true)), in: context)
        case .silence: break
        case .reset: write(id, .rstStream(.internalError), in: context)
        case .goAway(let reason): goAway(before: id, withReason: reason, in: context)
        }
    }

    /// Sends GOAWAY, which means that streams before `id` were processed and later ones were not.
    private func goAway(before id: HTTP2StreamID, withReason reason: String, in context: ChannelHandlerContext) {
        hasSentGoAway = true
        let text = #"{"reason":\#(JSONParser.quoted(reason)),"timestamp":\#(apns.milliseconds)}"#
        let last = Int(id) > 2 ? HTTP2StreamID(Int(id) - 2) : .rootStream
        let goAwayFrame = HTTP2Frame.FramePayload.goAway(
            lastStreamID: last,
            errorCode: .noError,
            opaqueData: ByteBuffer(string: text)
        )
        write(.rootStream, goAwayFrame, in: context)
        context.flush()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        // An immediate close while client bytes are unread would reset the connection, and the client could lose the
        // frame.
        context.eventLoop.scheduleTask(in: Self.closeDelay) { bound.value.close(promise: nil) }
    }

    private func allow(_ streams: Int, in context: ChannelHandlerContext) {
        guard streams != allowedStreams else { return }
        allowedStreams = streams
        let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: streams)
        write(.rootStream, .settings(.settings([setting])), in: context)
    }

    private func write(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload, in context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
    }

    // MARK: Connection

    func channelReadComplete(context: ChannelHandlerContext) {
        // One flush covers all frames of the read.
        context.flush()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // A client that does not read responses may send no more requests. Setting the option fails only on a closed
        // channel.
        try? context.channel.syncOptions?.setOption(.autoRead, value: context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let closed = event as? StreamClosedEvent { streams[closed.streamID] = nil }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // NIOHTTP2 has already reset the stream.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }
}
