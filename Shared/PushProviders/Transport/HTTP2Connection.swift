import NIOCore
import NIOHPACK
import NIOHTTP2
import TLSRecords

/// An HTTP/2 client connection.
///
/// It reads and writes frames. A stream is an entry in a table; NIO's multiplexer creates a channel with a pipeline for
/// each stream, which costs a third of the time. Only this level knows which requests a GOAWAY frame leaves
/// unprocessed.
final class HTTP2Connection: ChannelInboundHandler, PooledConnection {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    struct Stream {
        let pendingRequest: PendingRequest
        var status = 0
        var fields = HPACKHeaders()
        var body = ByteBuffer()

        var response: ProviderResponse { ProviderResponse(status: status, fields: fields, body: body) }
    }

    let pool: ConnectionPool
    let attempt: ConnectionAttempt
    private let openedAt = NIODeadline.now()
    private var context: ChannelHandlerContext?
    var streams: [HTTP2StreamID: Stream] = [:]
    private var nextStream = 1
    /// Requests that ended and that the pool does not know about yet.
    var finished = 0
    var isOpen = false
    private var hasServed = false
    private(set) var isRetired = false
    /// Whether the channel is not writable.
    private(set) var isBlocked = false
    var limit = 0
    var closeReason: String?
    /// Received bytes that no WINDOW_UPDATE has acknowledged yet.
    var unacknowledgedBytes = 0
    var keepAlive: ConnectionKeepAlive

    init(pool: ConnectionPool, attempt: ConnectionAttempt) {
        self.pool = pool
        self.attempt = attempt
        keepAlive = ConnectionKeepAlive(pool.settings)
    }

    static func install(
        on pipeline: ChannelPipeline.SynchronousOperations,
        pool: ConnectionPool,
        attempt: ConnectionAttempt
    ) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16_384),
        ]
        // A response after its request was cancelled is not an attack.
        connection.maximumRecentlyResetStreams = 10_000
        // A server can reset each request, so as many resets as requests are not an attack.
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = 10_000
        stream.streamResetFrameRateLimit.windowLength = .seconds(1)
        try pipeline.addHandlers(
            TLSRecordBatcher(),
            NIOHTTP2Handler(mode: .client, connectionConfiguration: connection, streamConfiguration: stream),
            HTTP2Connection(pool: pool, attempt: attempt)
        )
    }

    // MARK: Requests

    func wake() {
        startRequests()
    }

    /// Reports ended requests to the pool and starts waiting ones.
    private func startRequests() {
        guard isOpen, let context else { return }
        var begun = 0
        updateWritability(context)
        if !isRetired, !isBlocked {
            // Repeats if some requests were already cancelled.
            repeat {
                let requests = pool.takeRequests(ObjectIdentifier(self), finished: finished)
                finished = 0
                for pendingRequest in requests { begin(pendingRequest, &begun, context) }
            } while finished > 0 && !isRetired
        }
        if begun > 0 { context.flush() }
        if isRetired, streams.isEmpty { context.close(promise: nil) }
        setTimer(context)
    }

    /// Stops taking requests while the channel is not writable, because only the pool can give a request to another
    /// connection.
    private func updateWritability(_ context: ChannelHandlerContext) {
        guard isBlocked == context.channel.isWritable, !isRetired else { return }
        isBlocked.toggle()
        pool.limitChanged(ObjectIdentifier(self), to: isBlocked ? 0 : limit)
    }

    private func begin(_ pendingRequest: PendingRequest, _ begun: inout Int, _ context: ChannelHandlerContext) {
        guard !pendingRequest.isOver else {
            finished += 1
            return
        }
        let id = HTTP2StreamID(nextStream)
        nextStream += 2
        streams[id] = Stream(pendingRequest: pendingRequest)
        begun += 1
        let head = HTTP2Frame.FramePayload.headers(.init(headers: pendingRequest.request.fields))
        context.write(Self.wrapOutboundOut(HTTP2Frame(streamID: id, payload: head)), promise: nil)
        let body = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(pendingRequest.request.body), endStream: true))
        context.write(Self.wrapOutboundOut(HTTP2Frame(streamID: id, payload: body)), promise: nil)
        // HTTP/2 does not reuse stream numbers, and they end at 2^31 - 1.
        if nextStream > Int(Int32.max) - 2 { retire() }
    }

    func end(_ id: HTTP2StreamID, _ outcome: PendingRequest.Outcome) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        finished += 1
        stream.pendingRequest.end(outcome)
        guard case .success(let response) = outcome else { return }
        hasServed = true
        guard pool.settings.retiringStatuses.contains(response.status), .now() - openedAt >= pool.settings.retiringAge
        else { return }
        retire()
    }

    func retire() {
        retire(returning: [])
        if streams.isEmpty { context?.close(promise: nil) }
    }

    func retire(returning returned: [PendingRequest]) {
        guard !isRetired || !returned.isEmpty else { return }
        isRetired = true
        pool.retired(ObjectIdentifier(self), returning: returned, hasServed: hasServed)
    }

    // MARK: Reading

    func channelReadComplete(context: ChannelHandlerContext) {
        keepAlive.recordRead()
        if unacknowledgedBytes >= 16_384 {
            let update = HTTP2Frame(
                streamID: .rootStream,
                payload: .windowUpdate(windowSizeIncrement: unacknowledgedBytes)
            )
            unacknowledgedBytes = 0
            context.writeAndFlush(Self.wrapOutboundOut(update), promise: nil)
        }
        startRequests()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        startRequests()
        context.fireChannelWritabilityChanged()
    }

    // MARK: Deadlines

    private func setTimer(_ context: ChannelHandlerContext) {
        keepAlive.set(on: context.eventLoop, isBusy: !streams.isEmpty) { [weak self] in self?.checkDeadlines() }
    }

    private func checkDeadlines() {
        guard let context else { return }
        let now = NIODeadline.now()
        let overdue = streams.filter { $0.value.pendingRequest.deadline <= now }
        for (id, stream) in overdue {
            // The server also receives a reset for a request whose caller cancelled.
            end(id, .failure(stream.pendingRequest.isOver ? .cancelled : .timedOut))
            cancelStream(id, context)
        }
        switch keepAlive.next(now, isBusy: !streams.isEmpty) {
        case .nothing: break
        case .ping: ping(context)
        case .close: return closeUnresponsive(context)
        case .retire: retire()
        }
        // A connection without received data for half of the time limit receives no further requests.
        if !overdue.isEmpty, (now - keepAlive.lastRead) * 2 >= pool.settings.requestTimeout { retire() }
        startRequests()
    }

    /// Ends all requests before closing, because a TLS close would wait for the silent peer.
    private func closeUnresponsive(_ context: ChannelHandlerContext) {
        retire(returning: [])
        for id in streams.keys { end(id, .failure(.lost("silent"))) }
        context.close(promise: nil)
    }

    private func ping(_ context: ChannelHandlerContext) {
        let frame = HTTP2Frame(streamID: .rootStream, payload: .ping(HTTP2PingData(), ack: false))
        context.writeAndFlush(Self.wrapOutboundOut(frame), promise: nil)
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if closeReason == nil { closeReason = Connector.describe(error) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        keepAlive.stop()
        if isOpen {
            retire(returning: [])
            for id in streams.keys { end(id, .failure(.lost(closeReason))) }
            pool.closed()
        } else {
            attempt.fail(.unreachable(closeReason ?? "closed before the first SETTINGS frame"))
        }
        context.fireChannelInactive()
    }
}
