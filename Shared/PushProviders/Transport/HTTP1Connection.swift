import NIOCore
import NIOHPACK
import NIOHTTP1
import TLSRecords

/// A connection of HTTP/1.1, as the client: one request at a time.
final class HTTP1Connection: ChannelInboundHandler, PooledConnection {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let pool: ConnectionPool
    private let opening: Opening
    private var context: ChannelHandlerContext?
    private var current: Exchange?
    private var head: HTTPResponseHead?
    private var body = ByteBuffer()
    private var isOpen = false
    private var hasServed = false
    private var isRetired = false
    private var farewell: String?
    private var watch: ConnectionWatch

    init(pool: ConnectionPool, opening: Opening) {
        self.pool = pool
        self.opening = opening
        // It cannot be asked whether it is still there.
        var settings = pool.settings
        settings.pingInterval = .hours(24)
        watch = ConnectionWatch(settings)
    }

    static func install(
        on pipeline: ChannelPipeline.SynchronousOperations,
        pool: ConnectionPool,
        opening: Opening
    ) throws {
        let connection = HTTP1Connection(pool: pool, opening: opening)
        try pipeline.addHandlers(
            RecordFiller(),
            HTTPRequestEncoder(),
            ByteToMessageHandler(HTTPResponseDecoder(informationalResponseStrategy: .drop)),
            connection
        )
        connection.isOpen = opening.succeed(connection, limit: 1)
    }

    // MARK: Requests

    func wake() {
        takeTurn(finished: 0)
    }

    private func takeTurn(finished: Int) {
        guard let context, !isRetired else { return }
        var finished = finished
        while current == nil {
            let taken = pool.turn(ObjectIdentifier(self), finished: finished)
            guard let exchange = taken.first else { break }
            // Asked once: its caller may give up at any moment.
            let isOver = exchange.isOver
            finished = isOver ? 1 : 0
            if !isOver { begin(exchange, context) }
        }
        setTimer(context)
    }

    private func begin(_ exchange: Exchange, _ context: ChannelHandlerContext) {
        current = exchange
        let request = exchange.request
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

    // MARK: Answers

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        watch.heard()
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
            finish(mayGoOn: false)
        case .end: finish(mayGoOn: head?.isKeepAlive == true)
        }
    }

    private func finish(mayGoOn: Bool) {
        guard let exchange = current, let head else { return }
        current = nil
        self.head = nil
        let answer = Answer(status: Int(head.status.code), fields: HPACKHeaders(httpHeaders: head.headers), body: body)
        body = ByteBuffer()
        hasServed = true
        if mayGoOn, !isRetired {
            takeTurn(finished: 1)
        } else {
            retire()
        }
        // Last, so that who asks again at once finds room here and opens no second connection.
        exchange.end(.success(answer))
    }

    // MARK: Time and the channel

    private func setTimer(_ context: ChannelHandlerContext) {
        watch.set(on: context.eventLoop, isBusy: current != nil) { [weak self] in self?.look() }
    }

    private func look() {
        guard let context else { return }
        let now = NIODeadline.now()
        if let exchange = current, exchange.deadline <= now {
            exchange.end(.failure(.unanswered))
            return context.close(promise: nil)
        }
        if case .retire = watch.next(now, isBusy: current != nil) { return retire() }
        setTimer(context)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if farewell == nil { farewell = Connector.describe(error) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        watch.stop()
        if isOpen {
            leavePool()
            current?.end(.failure(.lost(farewell)))
            current = nil
            pool.closed()
        }
        context.fireChannelInactive()
    }
}
