import NIOCore
import NIOHTTP1

/// One connection to a service, which serves one request after another.
final class UpstreamHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    let pool: UpstreamPool
    /// The request that uses this connection; nil while the connection is idle in the pool.
    var proxyHandler: ProxyHandler?
    var idleSince = NIODeadline.uptimeNanoseconds(0)
    /// Whether the connection has carried a response, so the service may have closed it since.
    private(set) var isUsed = false
    private(set) var isTunnel = false
    var isCounted = true
    /// Whether the connection carries a long poll or an event stream.
    var isLongLived = false {
        didSet { if isLongLived != oldValue { pool.changeLongLived(isLongLived ? 1 : -1) } }
    }

    private let encoder: HTTPRequestEncoder
    private let decoder: ByteToMessageHandler<HTTPResponseDecoder>
    private(set) var context: ChannelHandlerContext?
    private var keepsAlive = true
    private var hasUnflushed = false
    private var needsRead = false
    private var failure: (any Error)?
    /// The bytes that followed a 101 response in the same read.
    private var leftover: ByteBuffer?

    init(pool: UpstreamPool) {
        self.pool = pool
        var configuration = HTTPRequestEncoder.Configuration()
        configuration.automaticallySetFramingHeaders = false
        encoder = HTTPRequestEncoder(configuration: configuration)
        decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .fireError))
    }

    func install(in channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(encoder)
        try pipeline.addHandler(decoder)
        try pipeline.addHandler(self)
    }

    var channel: (any Channel)? { context?.channel }
    var isUsable: Bool { context?.channel.isActive ?? false && proxyHandler == nil }
    var isWritable: Bool { context?.channel.isWritable ?? false }

    // MARK: From the request

    func send(_ part: HTTPClientRequestPart) {
        hasUnflushed = true
        context?.write(Self.wrapOutboundOut(part), promise: nil)
    }

    func flush() {
        guard hasUnflushed else { return }
        hasUnflushed = false
        context?.flush()
    }

    /// Reads more of the response when the client accepts more.
    func resume() {
        guard needsRead else { return }
        needsRead = false
        context?.read()
    }

    /// Returns the connection to the pool if it is reusable, and closes it otherwise.
    func release(isComplete: Bool) {
        proxyHandler = nil
        isLongLived = false
        isUsed = true
        guard isComplete, keepsAlive, failure == nil, context?.channel.isActive ?? false else {
            close()
            return
        }
        pool.release(self)
        resume()
    }

    func close() {
        proxyHandler = nil
        context?.close(promise: nil)
    }

    // MARK: From the service

    func channelActive(context: ChannelHandlerContext) {
        context.read()
        context.fireChannelActive()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let proxyHandler else {
            // A response without a request is invalid.
            context.close(promise: nil)
            return
        }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            keepsAlive = head.isKeepAlive
            proxyHandler.responseBegan(head, from: self)
        case .body(let bytes): proxyHandler.responseContinued(on: bytes)
        case .end(let trailers): proxyHandler.responseEnded(trailers)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard let proxyHandler else {
            context.read()
            return
        }
        if proxyHandler.flushReportingWritability() { context.read() } else { needsRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { proxyHandler?.upstreamBecameWritable() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .leftoverDataWhenDone(let bytes) = error as? ByteToMessageDecoderError {
            leftover = bytes
            return
        }
        failure = error
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        pool.forget(self)
        let proxyHandler = proxyHandler
        self.proxyHandler = nil
        proxyHandler?.upstreamClosed(self)
    }

    // MARK: Tunnels

    /// Replaces the HTTP handlers with `end`, which forwards the bytes after the response head.
    func becomeTunnel(_ end: TunnelHandler) throws {
        guard let context else { throw ChannelError.ioOnClosedChannel }
        isTunnel = true
        pool.becameTunnel()
        try end.install(in: context.channel, ahead: encoder)
        let pipeline = context.pipeline.syncOperations
        pipeline.removeHandler(decoder).assumeIsolated().whenComplete { _ in
            pipeline.removeHandler(self.encoder, promise: nil)
            pipeline.removeHandler(self, promise: nil)
            end.start(after: self.leftover)
        }
    }
}
