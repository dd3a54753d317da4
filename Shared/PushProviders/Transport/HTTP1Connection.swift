import NIOCore
import NIOHPACK
import NIOHTTP1
import TLSRecords

/// An HTTP/1.1 client connection with one request at a time.
final class HTTP1Connection: ChannelInboundHandler, PooledConnection {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let pool: ConnectionPool
    private let attempt: ConnectionAttempt
    private var context: ChannelHandlerContext?
    private var current: PendingRequest?
    private var head: HTTPResponseHead?
    private var body = ByteBuffer()
    private var isOpen = false
    private var hasServed = false
    private var isRetired = false
    private var closeReason: String?
    private var keepAlive: ConnectionKeepAlive

    init(pool: ConnectionPool, attempt: ConnectionAttempt) {
        self.pool = pool
        self.attempt = attempt
        // HTTP/1.1 has no ping.
        var settings = pool.settings
        settings.pingInterval = .hours(24)
        keepAlive = ConnectionKeepAlive(settings)
    }

    static func install(
        on pipeline: ChannelPipeline.SynchronousOperations,
        pool: ConnectionPool,
        attempt: ConnectionAttempt
    ) throws {
        let connection = HTTP1Connection(pool: pool, attempt: attempt)
        try pipeline.addHandlers(
            TLSRecordBatcher(),
            HTTPRequestEncoder(),
            ByteToMessageHandler(HTTPResponseDecoder(informationalResponseStrategy: .drop)),
            connection
        )
        connection.isOpen = attempt.succeed(connection, limit: 1)
    }

    // MARK: Requests

    func wake() {
        startRequests(finished: 0)
    }

    private func startRequests(finished: Int) {
        guard let context, !isRetired else { return }
        var finished = finished
        while current == nil {
            let requests = pool.takeRequests(ObjectIdentifier(self), finished: finished)
            guard let pendingRequest = requests.first else { break }
            // Read once, because the caller may cancel at any moment.
            let isOver = pendingRequest.isOver
            finished = isOver ? 1 : 0
            if !isOver { begin(pendingRequest, context) }
        }
        setTimer(context)
    }

    private func begin(_ pendingRequest: PendingRequest, _ context: ChannelHandlerContext) {
        current = pendingRequest
        let request = pendingRequest.request
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: request.path)
        head.headers.add(name: "host", value: request.authority)
        for field in request.fields where !field.name.hasPrefix(":") {
            head.headers.add(name: field.name, value: field.value)
        }
        head.headers.add(name: "content-length", value: String(request.body.readableBytes))
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(request.body))), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    func retire() {
        leavePool()
        if current == nil { context?.close(promise: nil) }
    }

    private func leavePool() {
        guard !isRetired else { return }
        isRetired = true
        pool.retired(ObjectIdentifier(self), returning: [], hasServed: hasServed)
    }

    // MARK: Responses

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        keepAlive.recordRead()
        switch Self.unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(var bytes):
            let room = pool.settings.maximumBody - body.readableBytes
            guard bytes.readableBytes > room else {
                body.writeBuffer(&bytes)
                return
            }
            var piece = bytes.readSlice(length: room) ?? ByteBuffer()
            body.writeBuffer(&piece)
            finish(keepsConnection: false)
        case .end: finish(keepsConnection: head?.isKeepAlive == true)
        }
    }

    private func finish(keepsConnection: Bool) {
        guard let pendingRequest = current, let head else { return }
        current = nil
        self.head = nil
        let response = ProviderResponse(
            status: Int(head.status.code),
            fields: HPACKHeaders(httpHeaders: head.headers),
            body: body
        )
        body = ByteBuffer()
        hasServed = true
        if keepsConnection, !isRetired {
            startRequests(finished: 1)
        } else {
            retire()
        }
        // The request ends last, so that a caller's next request uses this connection instead of a new one.
        pendingRequest.end(.success(response))
    }

    // MARK: Deadlines and the channel

    private func setTimer(_ context: ChannelHandlerContext) {
        keepAlive.set(on: context.eventLoop, isBusy: current != nil) { [weak self] in self?.checkDeadlines() }
    }

    private func checkDeadlines() {
        guard let context else { return }
        let now = NIODeadline.now()
        if let pendingRequest = current, pendingRequest.deadline <= now {
            pendingRequest.end(.failure(.timedOut))
            return context.close(promise: nil)
        }
        if case .retire = keepAlive.next(now, isBusy: current != nil) { return retire() }
        setTimer(context)
    }

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
            leavePool()
            current?.end(.failure(.lost(closeReason)))
            current = nil
            pool.closed()
        }
        context.fireChannelInactive()
    }
}
