import Logging
import NIOCore
import NIOHTTP1

/// A handler that passes a connection's requests to a shortcut, and to the routes if the shortcut does not respond.
///
/// Responses keep their order. While a response of the routes is pending, the routes receive all requests. While a file
/// is being sent, further requests are held and reading stops. A slow client costs an open file but no memory.
final class ShortcutHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The number of bytes of a file to write at once; completed writes show that a slow client is still connected.
    static let slice: Int64 = 262_144

    private struct Sending {
        let file: NIOFileHandle
        var rest: Range<Int64>
        let isLast: Bool
    }

    private let shortcut: any Shortcut
    private let recorder: RequestRecorder
    private let logger: Logger
    private var clock = HTTPClock()
    /// The number of requests that the routes have not responded to.
    private var unanswered = 0
    /// Whether the end of a request with a response is still to come.
    private var isEnding = false
    private var sending: Sending?
    private var held = CircularBuffer<HTTPServerRequestPart>(initialCapacity: 0)
    private var heldEvents: [Any] = []
    private var isReadPending = false

    init(_ shortcut: any Shortcut, _ recorder: RequestRecorder, _ logger: Logger) {
        self.shortcut = shortcut
        self.recorder = recorder
        self.logger = logger
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if sending == nil, held.isEmpty { process(part, context) } else { held.append(part) }
    }

    private func process(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head):
            if unanswered == 0, let response = shortcutResponse(to: head) {
                isEnding = true
                send(response.head, response.body, isLast: response.isLast, context)
            } else {
                unanswered += 1
                context.fireChannelRead(wrapInboundOut(part))
            }
        case .end where isEnding:
            isEnding = false
        default:
            context.fireChannelRead(wrapInboundOut(part))
        }
    }

    private func shortcutResponse(
        to head: HTTPRequestHead
    ) -> (head: HTTPResponseHead, body: (file: CInt, bytes: Range<Int64>)?, isLast: Bool)? {
        guard head.method == .GET || head.method == .HEAD, head.version == .http1_1, head.isKeepAlive,
            !head.headers.contains(name: "content-length"), !head.headers.contains(name: "transfer-encoding")
        else { return nil }
        let start = ContinuousClock.now
        guard let response = shortcut.answer(to: head) else { return nil }
        let requestID = RequestMiddleware.requestID(head.headers.first(name: "x-request-id"))
        let trace = TraceParent(head.headers.first(name: "traceparent"))
        let status = Int(response.status.code)
        let isLast = recorder.record(
            head.method.rawValue,
            shortcut.route,
            status,
            since: start,
            logger(of: requestID, trace)
        )
        var headers = response.headers
        headers.add(name: "X-Request-Id", value: requestID)
        headers.add(name: "traceparent", value: trace.text)
        headers.add(name: "Date", value: clock.now())
        if isLast { headers.add(name: "Connection", value: "close") }
        return (HTTPResponseHead(version: .http1_1, status: response.status, headers: headers), response.body, isLast)
    }

    /// Returns the logger of a request; without metadata if the request is not logged.
    private func logger(of requestID: String, _ trace: TraceParent) -> Logger {
        guard logger.logLevel <= .info else { return logger }
        var logger = logger
        logger[metadataKey: "requestId"] = "\(requestID)"
        logger[metadataKey: "traceId"] = "\(trace.traceID)"
        return logger
    }

    func read(context: ChannelHandlerContext) {
        if sending == nil { context.read() } else { isReadPending = true }
    }

    // MARK: Responses

    private func send(
        _ head: HTTPResponseHead,
        _ body: (file: CInt, bytes: Range<Int64>)?,
        isLast: Bool,
        _ context: ChannelHandlerContext
    ) {
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        guard let body else {
            let sent = isLast ? context.eventLoop.makePromise(of: Void.self) : nil
            sent?.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
            return context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
        }
        let file = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: body.file)
        sending = Sending(file: file, rest: body.bytes, isLast: isLast)
        sendSlice(context)
    }

    /// Sends the next slice of the file; the last one is followed by the end of the response.
    private func sendSlice(_ context: ChannelHandlerContext) {
        guard var now = sending else { return }
        let end = min(now.rest.lowerBound + Self.slice, now.rest.upperBound)
        let region = FileRegion(fileHandle: now.file, readerIndex: Int(now.rest.lowerBound), endIndex: Int(end))
        now.rest = end..<now.rest.upperBound
        sending = now
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { [self] result in
            switch result {
            case .failure: finish(context, isWhole: false)
            case .success where now.rest.isEmpty: finish(context, isWhole: true)
            case .success: sendSlice(context)
            }
        }
        context.write(wrapOutboundOut(.body(.fileRegion(region))), promise: now.rest.isEmpty ? nil : sent)
        if now.rest.isEmpty { context.write(wrapOutboundOut(.end(nil)), promise: sent) }
        context.flush()
    }

    private func finish(_ context: ChannelHandlerContext, isWhole: Bool) {
        guard let done = sending else { return }
        sending = nil
        // A file that was only read cannot lose data on close.
        try? done.file.close()
        guard isWhole, !done.isLast else { return context.close(promise: nil) }
        let wasHeld = !held.isEmpty
        while sending == nil, !held.isEmpty { process(held.removeFirst(), context) }
        // Handlers behind this one flush when a read completes, but the read of the held parts completed earlier.
        if wasHeld { context.fireChannelReadComplete() }
        guard sending == nil else { return }
        for event in heldEvents { context.fireUserInboundEventTriggered(event) }
        heldEvents = []
        if isReadPending {
            isReadPending = false
            context.read()
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { unanswered -= 1 }
        context.write(data, promise: promise)
    }

    // MARK: The end

    /// Delays events that make the routes close the connection until the file is sent.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        let isEnd = event is ChannelShouldQuiesceEvent || event as? ChannelEvent == .inputClosed
        if sending != nil, isEnd { heldEvents.append(event) } else { context.fireUserInboundEventTriggered(event) }
    }
}
