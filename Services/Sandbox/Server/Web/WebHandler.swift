import NIOCore
import NIOHTTP1

/// A connection in HTTP/1.1: gathers a request, has it answered, and sends the answer, at once or later.
final class WebHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// Far more than any service takes of a notification.
    private static let bodyLimit = 256 * 1_024
    /// More than any network takes of a video here.
    private static let mediaLimit = 64 * 1_024 * 1_024

    private let web: Web
    private let scheme: String
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var limit = 0
    private var isTooLarge = false
    private var follower: Follower?
    private var live: LiveFollower?

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
            act(on: isTooLarge ? web.tooLarge(request) : web.reply(to: request), to: head, in: context)
        }
    }

    private func act(on reply: WebReply, to head: HTTPRequestHead, in context: ChannelHandlerContext) {
        switch reply {
        case .answer(let answer, after: nil): send(answer, to: head, in: context)
        case .answer(let answer, after: let delay?):
            after(delay, in: context) { $0.send(answer, to: head, in: $1) }
        case .later(let make):
            let promise = context.eventLoop.makePromise(of: WebAnswer.self)
            promise.completeWithTask { await make() }
            promise.futureResult.assumeIsolated().whenSuccess { answer in
                if context.channel.isActive { self.send(answer, to: head, in: context) }
            }
        case .live(let events):
            live = LiveFollower(events, in: context)
        case .socket(let socket): socket.upgrade(context, from: head, handler: self)
        case .cut(let answer, after: nil): cut(answer, in: context)
        case .cut(let answer, after: let delay?): after(delay, in: context) { $0.cut(answer, in: $1) }
        case .silence: break
        case .reset(after: nil): context.close(promise: nil)
        case .reset(after: let delay?): after(delay, in: context) { $1.close(promise: nil) }
        case .notifications(after: let number, limit: let limit, wait: let wait):
            follow(Follower(after: number, limit: limit, wait: wait, seen: web.seen, answering: head), in: context)
        case .stream(after: let number):
            follow(Follower(after: number, limit: 100, wait: nil, seen: web.seen, answering: head), in: context)
        }
    }

    /// Does something in a while, if the connection is still there.
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

    private func follow(_ follower: Follower, in context: ChannelHandlerContext) {
        self.follower = follower
        follower.start(in: context) { [web] answer, context in
            self.follower = nil
            guard let head = self.head else { return }
            self.send(answer ?? web.tooManyFollowers, to: head, in: context)
        }
    }

    private func cut(_ answer: WebAnswer, in context: ChannelHandlerContext) {
        var headers = answer.headers
        headers.replaceOrAdd(name: "content-length", value: String(max(1, answer.body.readableBytes)))
        let half = answer.body.getSlice(at: answer.body.readerIndex, length: answer.body.readableBytes / 2)
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { [channel = context.channel] _ in channel.close(promise: nil) }
        context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(half ?? ByteBuffer()))), promise: written)
    }

    private func send(_ answer: WebAnswer, to head: HTTPRequestHead, in context: ChannelHandlerContext) {
        var headers = answer.headers
        headers.add(name: "content-length", value: String(answer.body.readableBytes))
        if !headers.contains(name: "cache-control") { headers.add(name: "cache-control", value: "no-store") }
        headers.add(name: "x-content-type-options", value: "nosniff")
        if !head.isKeepAlive { headers.add(name: "connection", value: "close") }
        let response = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
        context.write(Self.wrapOutboundOut(.head(response)), promise: nil)
        if answer.body.readableBytes > 0, head.method != .HEAD {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(answer.body))), promise: nil)
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
        if context.channel.isWritable { follower?.pump(in: context) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        follower?.stop()
        follower = nil
        live?.stop()
        live = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
