import NIOCore
import NIOHTTP1

final class ServerCodec {
    private let limits: NIOHTTPDecoderLimitConfiguration
    private let meter: ByteMeter
    private let encoder: HTTPResponseEncoder
    private var decoder: ByteToMessageHandler<HTTPRequestDecoder>

    init(configuration: GatewayConfiguration) {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = configuration.headerBytesLimit
        limits.maxHeaderListSize = configuration.headerBytesLimit
        limits.maxHeaderFieldCount = configuration.headerCountLimit
        self.limits = limits
        // `ProxyHandler` sets the framing fields; NIO's default would end a response to HEAD with a chunk.
        var framing = HTTPResponseEncoder.Configuration()
        framing.automaticallySetFramingHeaders = false
        encoder = HTTPResponseEncoder(configuration: framing)
        decoder = Self.decoder(limits)
        meter = ByteMeter()
    }

    private static func decoder(_ limits: NIOHTTPDecoderLimitConfiguration) -> ByteToMessageHandler<HTTPRequestDecoder>
    {
        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .fireError, limitConfiguration: limits))
    }

    func install(in channel: any Channel, before proxyHandler: ProxyHandler) throws {
        meter.proxyHandler = proxyHandler
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(meter)
        try pipeline.addHandler(decoder)
        try pipeline.addHandler(encoder)
        try pipeline.addHandler(proxyHandler)
    }

    /// Replaces a decoder that stopped at the end of a request with `Upgrade`.
    ///
    /// Unread bytes of the old decoder reach `ProxyHandler` as an error before `completion`, which passes them to
    /// `feed`.
    func renew(in channel: any Channel, _ completion: @escaping (Bool) -> Void) {
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(decoder).assumeIsolated().whenComplete { result in
            do {
                try result.get()
                self.decoder = Self.decoder(self.limits)
                try pipeline.addHandler(self.decoder, position: .after(self.meter))
                completion(true)
            } catch {
                completion(false)
            }
        }
    }

    func feed(_ bytes: ByteBuffer) {
        meter.replay(bytes)
    }

    /// Replaces the HTTP handlers with `end`, which forwards all further bytes.
    func becomeTunnel(_ end: TunnelHandler, in channel: any Channel, proxyHandler: ProxyHandler) throws {
        try end.install(in: channel, ahead: meter)
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(decoder).assumeIsolated().whenComplete { _ in
            pipeline.removeHandler(self.encoder, promise: nil)
            pipeline.removeHandler(self.meter, promise: nil)
            pipeline.removeHandler(proxyHandler, promise: nil)
            end.start(after: proxyHandler.leftover)
        }
    }
}

/// Reports how many bytes a client sends, because the decoder reports nothing before a complete head.
final class ByteMeter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    weak var proxyHandler: ProxyHandler?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        guard let proxyHandler else {
            context.fireChannelRead(data)
            return
        }
        proxyHandler.bytesArrived(bytes.readableBytes)
        let before = proxyHandler.partCount
        if bytes.readableBytes > 1, !bytes.endsBlank {
            // Feeding the last byte separately shows whether it ends a request or the next request has already started.
            var start = bytes
            let last = start.readSlice(length: bytes.readableBytes - 1)
            if let last { context.fireChannelRead(Self.wrapInboundOut(last)) }
            let middle = proxyHandler.partCount
            context.fireChannelRead(Self.wrapInboundOut(start))
            if proxyHandler.isBetweenRequests, proxyHandler.partCount == middle { proxyHandler.nextRequestBegan() }
        } else {
            context.fireChannelRead(data)
            if proxyHandler.isBetweenRequests, proxyHandler.partCount == before { proxyHandler.nextRequestBegan() }
        }
    }

    func replay(_ bytes: ByteBuffer) {
        guard let context else { return }
        channelRead(context: context, data: NIOAny(bytes))
        context.fireChannelReadComplete()
    }
}

extension ByteBuffer {
    fileprivate var endsBlank: Bool {
        readableBytes >= 4 && getInteger(at: writerIndex - 4, as: UInt32.self) == 0x0D0A_0D0A
    }
}
