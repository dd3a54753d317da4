import Logging
import NIOCore
import NIOHTTP1
import Wire

/// The client's side: takes one request after another, has each judged, forwards it and sends the answer back.
///
/// It speaks in HTTP parts, so what carries them may be HTTP/1 or a stream of HTTP/2. Nothing is read that cannot be
/// passed on, on either side, so a slow reader slows its own sender and nobody else. The stages are in extensions:
/// admission, forwarding, answering, deadlines, tunnels.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler, ManagedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    enum Phase {
        /// Between two requests.
        case awaiting
        /// A head is there, and its credential is being verified or its service connected to. Its body waits.
        case preparing
        case forwarding
        /// Answered before the request had ended; what is left of it is read and dropped.
        case discarding
        /// Answered for the last time. What still comes is dropped: closing at once would reset the connection, and the
        /// client might never see the answer.
        case lingering
        /// The HTTP handlers are being renewed or taken away.
        case changing
        case closed
    }

    let loop: GatewayLoop
    /// What carries the parts over HTTP/1; nil on a stream of HTTP/2, which is one request and its answer.
    let codec: ServerCodec?
    /// Who is at the other end of the connection.
    let peer: Origin
    /// The answer to every request of a connection that came when there were too many.
    let limitError: APIError?
    /// Who the connection counts for; nil where it counts in the total alone.
    let connectionKey: UInt64?

    /// The settings as they are now.
    var state: GatewayState { loop.state }

    var listIndex = -1
    var phase = Phase.awaiting
    var phaseSince = NIODeadline.now()
    var request = ProxiedRequest.none
    var context: ChannelHandlerContext?
    /// Parts that came before they could be taken: of a body whose service is being connected to, or of the next request.
    var queue = CircularBuffer<HTTPServerRequestPart>(initialCapacity: 4)
    var headBegan: NIODeadline?
    /// Whether a request has begun to come in behind one that is still being answered.
    private(set) var hasNextRequestBegun = false
    /// What came from the decoder: how many parts, and whether the last one was a request's end.
    private(set) var partCount = 0
    private(set) var isBetweenRequests = true
    /// Since when the client has not read what was sent to it.
    var stalledSince: NIODeadline?
    /// Input that could not be read, behind a request that is still being answered.
    var hasPendingError: Bool = false
    /// What a decoder that is taken away had not read.
    var leftover: ByteBuffer?
    /// The address that `addressKey` was last asked for, and its answer.
    var cachedAddressKey: (address: String, key: UInt64)?
    /// Told apart by number, so that what was asked for one exchange does not reach the next.
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

    /// The address that the request under way came from, as far as we can tell.
    var clientAddress: String { origin.address }

    // MARK: From the client

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.track(self)
        // Inside TLS, the connection has been there for a while.
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

    /// Bytes came of a request of which there is not a head yet.
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
        // Who does not read answers gets no more of them.
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

    /// Takes what waited, as far as it can be taken now.
    func processQueue() {
        // Taking one request's end may lead back here for the next; the loop below goes on then.
        guard !isProcessing else { return }
        isProcessing = true
        while let part = queue.first, isReady(for: part) {
            queue.removeFirst()
            process(part)
        }
        isProcessing = false
    }

    /// Sends on what was taken, and reads what may be taken next.
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
            // Read ahead by one, which notices the next request without asking the kernel twice.
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

    /// Where the request under way comes from, as far as whoever brings it may say so.
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
