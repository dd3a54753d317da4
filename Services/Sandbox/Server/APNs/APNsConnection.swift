import NIOCore
import NIOHPACK
import NIOHTTP2
import Wire

/// A provider's connection to APNs, frame by frame: a channel for each stream would cost more than all else.
///
/// As Apple's, it allows one stream until a provider token was good, then a thousand, and one again after a bad one.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private static let streamLimit = 1_000
    /// Bytes of all bodies that may be on their way.
    private static let window = 1_024 * 1_024
    /// How long a client may take to hang up when it was told to go.
    private static let closeDelay = TimeAmount.seconds(2)

    private enum Stream {
        case reading(APNsRequest, body: ByteBuffer)
        /// The answer comes later.
        case waiting
    }

    private let apns: APNs
    private let environment: AppleEnvironment
    private var session = ProviderTokens.Session()
    private var streams: [HTTP2StreamID: Stream] = [:]
    private var allowedStreams = 1
    /// Body bytes whose window has not been given back.
    private var consumed = 0
    private var isLeaving = false

    init(apns: APNs, environment: AppleEnvironment) {
        self.apns = apns
        self.environment = environment
    }

    /// Makes what is inside a connection's TLS ready for HTTP/2.
    static func install(in channel: any Channel, apns: APNs, environment: AppleEnvironment) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16 * 1_024),
            HTTP2Setting(parameter: .headerTableSize, value: 4_096),
        ]
        // Keepalive PINGs and cancelled requests of a test are no attack.
        connection.controlFrameRateLimit.maximumCount = 10_000
        // Nor is what was on its way when a good-bye was said.
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
            // Trailers have nothing to say.
            if streams[frame.streamID] == nil {
                streams[frame.streamID] = .reading(APNsRequest(block.headers), body: ByteBuffer())
            }
            // A client that does not acknowledge our settings could open any number.
            guard streams.count <= 2 * Self.streamLimit else { return context.close(promise: nil) }
            if block.endStream { finish(frame.streamID, in: context) }
        case .data(let block):
            take(block, of: frame.streamID, in: context)
        default: break
        }
    }

    private func take(_ block: HTTP2Frame.FramePayload.Data, of id: HTTP2StreamID, in context: ChannelHandlerContext) {
        consumed += block.data.readableBytes + (block.paddingBytes.map { $0 + 1 } ?? 0)
        if consumed >= Self.window / 4 {
            write(.rootStream, .windowUpdate(windowSizeIncrement: consumed), in: context)
            consumed = 0
        }
        guard case .reading(let request, var body) = streams[id], case .byteBuffer(var bytes) = block.data else {
            return
        }
        if body.readableBytes > APNsPushType.largestPayload {
            // Read to its end, as clients expect, and kept no further.
            if bytes.readableBytes > 0, !block.endStream {
                write(id, .windowUpdate(windowSizeIncrement: bytes.readableBytes), in: context)
            }
        } else if body.readableBytes == 0 {
            streams[id] = .reading(request, body: bytes)
        } else {
            // In between nobody else holds the body, so that it grows where it is.
            streams[id] = .waiting
            body.writeBuffer(&bytes)
            streams[id] = .reading(request, body: body)
        }
        if block.endStream { finish(id, in: context) }
    }

    /// Decides on a request that is there.
    private func finish(_ id: HTTP2StreamID, in context: ChannelHandlerContext) {
        guard case .reading(let request, let body) = streams.removeValue(forKey: id), !isLeaving else { return }
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
            // The client may have given up meanwhile.
            guard connection.streams.removeValue(forKey: id) != nil else { return }
            connection.perform(on: later.value, for: id, in: context)
            context.flush()
        }
    }

    // MARK: Answers

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
        case .goAway(let reason): leave(before: id, withReason: reason, in: context)
        }
    }

    /// Says that what came before this stream was looked at, and nothing since.
    private func leave(before id: HTTP2StreamID, withReason reason: String, in context: ChannelHandlerContext) {
        isLeaving = true
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
        // Closed at once, what was just said could be lost with what the client has sent meanwhile.
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

    // MARK: The connection

    func channelReadComplete(context: ChannelHandlerContext) {
        // Once for all that was read.
        context.flush()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // Who does not read answers sends no more requests. Only a channel that is gone refuses the option.
        try? context.channel.syncOptions?.setOption(.autoRead, value: context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let closed = event as? StreamClosedEvent { streams[closed.streamID] = nil }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A single stream's error has been answered by its reset.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }
}
