import NIOCore
import NIOHTTP1

/// An HTTP/1.1 connection: collects a request with its body, and sends the response, possibly after a delay.
final class WebHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The body limit in bytes, far above that of any push service.
    private static let bodyLimit = 256 * 1_024
    /// The body limit of networks in bytes, above that of any video.
    private static let mediaLimit = 64 * 1_024 * 1_024

    private let web: Web
    private let scheme: String
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var limit = 0
    private var isTooLarge = false
    private var subscriber: NotificationSubscriber?
    private var live: EventStreamWriter?

    init(web: Web, scheme: String) {
        self.web = web
        self.scheme = scheme
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = ByteBuffer()
            isTooLarge = false
            limit = web.networks.isNetwork(head.uri) ? Self.mediaLimit : Self.bodyLimit
        case .body(var bytes):
            isTooLarge = isTooLarge || body.readableBytes + bytes.readableBytes > limit
            if isTooLarge { body = ByteBuffer() } else { body.writeBuffer(&bytes) }
        case .end:
            guard let head else { return }
            let request = WebRequest(head, scheme: scheme, body: body)
            body = ByteBuffer()
            perform(on: isTooLarge ? web.tooLarge(request) : web.reply(to: request), to: head, in: context)
        }
    }

    private func perform(on reply: ResponseAction, to head: HTTPRequestHead, in context: ChannelHandlerContext) {
        switch reply {
        case .response(let response, after: nil): send(response, to: head, in: context)
        case .response(let response, after: let delay?):
            after(delay, in: context) { $0.send(response, to: head, in: $1) }
        case .later(let make):
            let promise = context.eventLoop.makePromise(of: WebResponse.self)
            promise.completeWithTask { await make() }
            promise.futureResult.assumeIsolated().whenSuccess { response in
                if context.channel.isActive { self.send(response, to: head, in: context) }
            }
        case .live(let events):
            live = EventStreamWriter(events, in: context)
        case .socket(let socket): socket.upgrade(context, from: head, handler: self)
        case .cut(let response, after: nil): cut(response, in: context)
        case .cut(let response, after: let delay?): after(delay, in: context) { $0.cut(response, in: $1) }
        case .silence: break
        case .reset(after: nil): context.close(promise: nil)
        case .reset(after: let delay?): after(delay, in: context) { $1.close(promise: nil) }
        case .notifications(after: let number, limit: let limit, wait: let wait):
            follow(
                NotificationSubscriber(
                    after: number,
                    limit: limit,
                    wait: wait,
                    received: web.received,
                    respondingTo: head
                ),
                in: context
            )
        case .stream(after: let number):
            follow(
                NotificationSubscriber(
                    after: number,
                    limit: 100,
                    wait: nil,
                    received: web.received,
                    respondingTo: head
                ),
                in: context
            )
        }
    }

    /// Performs an action after a delay, if the connection is still open.
    private func after(
        _ delay: TimeAmount,
        in context: ChannelHandlerContext,
        _ action: @escaping (WebHandler, ChannelHandlerContext) -> Void
    ) {
        let bound = NIOLoopBound((self, context, action), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: delay) {
            let (handler, context, action) = bound.value
            if context.channel.isActive { action(handler, context) }
        }
    }

    private func follow(_ subscriber: NotificationSubscriber, in context: ChannelHandlerContext) {
        self.subscriber = subscriber
        subscriber.start(in: context) { [web] response, context in
            self.subscriber = nil
            guard let head = self.head else { return }
            self.send(response ?? web.tooManySubscribers, to: head, in: context)
        }
    }

    private func cut(_ response: WebResponse, in context: ChannelHandlerContext) {
        var headers = response.headers
        headers.replaceOrAdd(name: "content-length", value: String(max(1, response.body.readableBytes)))
        let half = response.body.getSlice(at: response.body.readerIndex, length: response.body.readableBytes / 2)
        let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { [channel = context.channel] _ in channel.close(promise: nil) }
        context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(half ?? ByteBuffer()))), promise: written)
    }

    private func send(_ response: WebResponse, to head: HTTPRequestHead, in context: ChannelHandlerContext) {
        var headers = response.headers
        headers.add(name: "content-length", value: String(response.body.readableBytes))
        if !headers.contains(name: "cache-control") { headers.add(name: "cache-control", value: "no-store") }
        headers.add(name: "x-content-type-options", value: "nosniff")
        if !head.isKeepAlive { headers.add(name: "connection", value: "close") }
        let responseHead = HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)
        context.write(Self.wrapOutboundOut(.head(responseHead)), promise: nil)
        if response.body.readableBytes > 0, head.method != .HEAD {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(response.body))), promise: nil)
        }
        guard !head.isKeepAlive else {
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
            return
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { [channel = context.channel] _ in channel.close(promise: nil) }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { subscriber?.sendPending(in: context) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        subscriber?.stop()
        subscriber = nil
        live?.stop()
        live = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
