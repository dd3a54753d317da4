import NIOCore
import NIOHPACK
import NIOHTTP2
import TLSRecords

/// A connection of HTTP/2, as the client.
///
/// It reads and writes frames: requests and answers are short, so a stream is an entry in a table, where NIO's multiplexer
/// makes a channel with a pipeline of its own for each. That costs a third of the time, and what a good-bye says about
/// which requests were not looked at is known here and nowhere above.
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
    /// The number that the next request's stream has.
    private var nextStream = 1
    /// How many have ended since the pool was told.
    var finished = 0
    var isOpen = false
    private var hasServed = false
    private(set) var isRetired = false
    /// The other side takes nothing at the moment.
    private(set) var isBlocked = false
    /// How many requests there may be at once.
    var limit = 0
    /// What the other side, or an error, said about the end.
    var closeReason: String?
    /// How much has been read since the other side was last told.
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
        // An answer that comes after its request was given up is no offence.
        connection.maximumRecentlyResetStreams = 10_000
        // Each reset is the answer to a request of ours: as many as there may be requests are no attack.
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

    /// Tells the pool what has ended and begins what it has.
    private func startRequests() {
        guard isOpen, let context else { return }
        var begun = 0
        updateWritability(context)
        if !isRetired, !isBlocked {
            // Again, if there were some among them that nobody waits for any more.
            repeat {
                let taken = pool.takeRequests(ObjectIdentifier(self), finished: finished)
                finished = 0
                for pendingRequest in taken { begin(pendingRequest, &begun, context) }
            } while finished > 0 && !isRetired
        }
        if begun > 0 { context.flush() }
        if isRetired, streams.isEmpty { context.close(promise: nil) }
        setTimer(context)
    }

    /// What the other side does not take yet is better off with the pool: here it could not be given back.
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
        // Numbers are not used twice, and there are two thousand million.
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

    // MARK: The other side

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

    // MARK: Time

    private func setTimer(_ context: ChannelHandlerContext) {
        keepAlive.set(on: context.eventLoop, isBusy: !streams.isEmpty) { [weak self] in self?.checkDeadlines() }
    }

    private func checkDeadlines() {
        guard let context else { return }
        let now = NIODeadline.now()
        let overdue = streams.filter { $0.value.pendingRequest.deadline <= now }
        for (id, stream) in overdue {
            // Who no longer waits has given it up, and the other side is told all the same.
            end(id, .failure(stream.pendingRequest.isOver ? .cancelled : .timedOut))
            cancelStream(id, context)
        }
        switch keepAlive.next(now, isBusy: !streams.isEmpty) {
        case .nothing: break
        case .ping: ping(context)
        case .close: return closeUnresponsive(context)
        case .retire: retire()
        }
        // A connection on which nothing at all was heard for most of that time is not trusted with others.
        if !overdue.isEmpty, (now - keepAlive.lastRead) * 2 >= pool.settings.requestTimeout { retire() }
        startRequests()
    }

    /// TLS waits for a last word, which nobody will say.
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
            attempt.fail(.unreachable(closeReason ?? "closed before the first settings"))
        }
        context.fireChannelInactive()
    }
}
