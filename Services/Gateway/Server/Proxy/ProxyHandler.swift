import Logging
import NIOCore
import NIOHTTP1
import Wire

/// The client side of the proxy: admits one request after another, forwards it and returns the response.
///
/// The handler uses HTTP parts, so it serves both HTTP/1 connections and HTTP/2 streams. Each side is read only as fast
/// as the other side accepts data, so a slow reader slows only its own sender. The stages are in extensions: admission,
/// forwarding, response, deadlines and tunnels.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler, ManagedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    enum Phase {
        case awaiting
        /// The head has arrived, and the gateway verifies the credential or connects to the service.
        ///
        /// The body waits.
        case preparing
        case forwarding
        /// The response ended before the request; the rest of the request is read and dropped.
        case discarding
        /// The last response was sent, and incoming data is dropped.
        ///
        /// Closing at once would reset the connection, and the client might never receive the response.
        case lingering
        case changing
        case closed
    }

    let loop: GatewayLoop
    /// The HTTP/1 codec; nil on an HTTP/2 stream, which has a single request.
    let codec: ServerCodec?
    let peer: Origin
    /// The response to every request on a connection beyond the connection limit.
    let limitError: APIError?
    /// The address key that the connection counts for; nil when it counts only in the total.
    let connectionKey: UInt64?

    var state: GatewayState { loop.state }

    var listIndex = -1
    var phase = Phase.awaiting
    var phaseSince = NIODeadline.now()
    var request = ProxiedRequest.none
    var context: ChannelHandlerContext?
    /// Parts that arrived early: of a body while the gateway connects to the service, or of the next request.
    var queue = CircularBuffer<HTTPServerRequestPart>(initialCapacity: 4)
    var headBegan: NIODeadline?
    /// Whether the next request has started to arrive during the current response.
    private(set) var hasNextRequestBegun = false
    /// The number of parts from the decoder, and whether the last part ended a request.
    private(set) var partCount = 0
    private(set) var isBetweenRequests = true
    /// The time since which the client has not read its data.
    var stalledSince: NIODeadline?
    /// Whether unparsable input follows the current request.
    var hasPendingError: Bool = false
    /// The unread bytes of a removed decoder.
    var leftover: ByteBuffer?
    /// The last client address, and its key in the limits.
    var cachedAddressKey: (address: String, key: UInt64)?
    /// The number of the current exchange, so that a late result of one exchange does not affect the next.
    var generation = 0
    var isOutputClosed = false
    private var isReadPending = false
    private var isProcessing = false
    private var hasUnflushed = false

    init(loop: GatewayLoop, codec: ServerCodec?, peer: Origin, admission: ConnectionAdmission) {
        self.loop = loop
        self.codec = codec
        self.peer = peer
        limitError = admission.limitError
        connectionKey = admission.key
    }

    var clientAddress: String { origin.address }

    // MARK: From the client

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.track(self)
        // Inside TLS, the channel is already active.
        if context.channel.isActive { read() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        loop.untrack(self)
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        read()
        context.fireChannelActive()
    }

    func bytesArrived(_ count: Int) {
        switch phase {
        case .awaiting:
            if headBegan == nil { headBegan = .now() }
        case .forwarding where !request.requestEnded:
            request.wireBytes += count
        default: break
        }
    }

    /// Notes that a request has started to arrive whose head is incomplete.
    func nextRequestBegan() {
        hasNextRequestBegun = true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = Self.unwrapInboundIn(data)
        partCount &+= 1
        if case .end = part { isBetweenRequests = true } else { isBetweenRequests = false }
        hasNextRequestBegun = false
        if queue.isEmpty, isReady(for: part) { process(part) } else { queue.append(part) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReadPending = false
        flushAndRead()
    }

    private func isReady(for part: HTTPServerRequestPart) -> Bool {
        switch phase {
        // A client that does not read its responses gets no further requests served.
        case .awaiting: isWritable
        case .lingering, .closed: true
        case .preparing, .changing: false
        case .forwarding, .discarding: !request.requestEnded
        }
    }

    private func process(_ part: HTTPServerRequestPart) {
        guard phase != .lingering, phase != .closed else { return }
        switch part {
        case .head(let head): receiveHead(head)
        case .body(let bytes): receiveBody(bytes)
        case .end(let trailers): receiveEnd(trailers)
        }
    }

    /// Processes queued parts as far as the phase allows.
    func processQueue() {
        // Processing the end of a request may call this method again; the loop below then continues.
        guard !isProcessing else { return }
        isProcessing = true
        while let part = queue.first, isReady(for: part) {
            queue.removeFirst()
            process(part)
        }
        isProcessing = false
    }

    /// Flushes forwarded data, and reads the next data if it can be accepted.
    func flushAndRead() {
        request.upstream?.flush()
        switch phase {
        case .awaiting:
            if hasNextRequestBegun, queue.isEmpty, headBegan == nil {
                hasNextRequestBegun = false
                headBegan = .now()
            }
            if isWritable { read() }
        case .discarding, .lingering: read()
        case .forwarding where request.requestEnded:
            // Reading one part ahead detects the next request without a second system call.
            if queue.isEmpty, codec != nil, request.parsedHead?.hasUpgrade == false { read() }
        case .forwarding:
            if request.upstream?.isWritable ?? false {
                if request.bodyWaitBegan == nil { request.bodyWaitBegan = .now() }
                read()
            }
        case .preparing, .changing, .closed: break
        }
    }

    private func read() {
        guard !isReadPending, queue.isEmpty else { return }
        isReadPending = true
        context?.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        stalledSince = nil
        if phase == .awaiting {
            processQueue()
            flushAndRead()
        } else {
            request.upstream?.resume()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch (error, phase) {
        case (ByteToMessageDecoderError.leftoverDataWhenDone(let bytes), _): leftover = bytes
        case (_, .lingering), (_, .closed): break
        case (let error as HTTPParserError, .awaiting):
            guard context.channel.isActive else { return }
            request = .none
            refuse(error.apiError)
        case (let error as HTTPParserError, _) where context.channel.isActive:
            if request.requestEnded { hasPendingError = true } else { refuse(error.apiError) }
        case (is ByteToMessageDecoderError, _): break
        default: context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .closed
        generation += 1
        queue.removeAll()
        let upstream = request.upstream
        request.upstream = nil
        upstream?.close()
        loop.untrack(self)
        context.fireChannelInactive()
    }

    // MARK: To the client

    func write(_ part: HTTPServerResponsePart, promise: EventLoopPromise<Void>? = nil) {
        hasUnflushed = true
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(Self.wrapOutboundOut(part), promise: promise)
    }

    func flush() {
        guard hasUnflushed else { return }
        hasUnflushed = false
        context?.flush()
    }

    /// The origin of the current request, as trusted proxies report it.
    var origin: Origin { request.origin ?? peer }

    var isWritable: Bool { context?.channel.isWritable ?? false }

    func close() {
        context?.close(promise: nil)
    }
}

extension HTTPParserError {
    var apiError: APIError {
        switch self {
        case .headerOverflow: GatewayError.headersTooLarge
        default: GatewayError.malformed
        }
    }
}
