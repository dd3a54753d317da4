import Logging
import NIOCore
import NIOHTTP1

/// Gives a connection's requests to a shortcut, and those that it does not answer to the routes behind.
///
/// Answers keep their order: while the routes owe one, they get all that comes, and while a file is being sent, what comes
/// waits and nothing more is read. A reader costs no memory, and an open file for as long as he takes.
final class ShortcutHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// So much of a file is given to the system at once; by what has gone it is known that a slow reader is there.
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
    /// How many requests the routes have not answered yet.
    private var unanswered = 0
    /// The end of a request that was answered is still to come.
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
        if sending == nil, held.isEmpty { take(part, context) } else { held.append(part) }
    }

    private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head):
            if unanswered == 0, let answer = answer(to: head) {
                isEnding = true
                send(answer.head, answer.body, isLast: answer.isLast, context)
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

    private func answer(
        to head: HTTPRequestHead
    ) -> (head: HTTPResponseHead, body: (file: CInt, bytes: Range<Int64>)?, isLast: Bool)? {
        guard head.method == .GET || head.method == .HEAD, head.version == .http1_1, head.isKeepAlive,
            !head.headers.contains(name: "content-length"), !head.headers.contains(name: "transfer-encoding")
        else { return nil }
        let start = ContinuousClock.now
        guard let answer = shortcut.answer(to: head) else { return nil }
        let requestID = RequestMiddleware.requestID(head.headers.first(name: "x-request-id"))
        let trace = TraceParent(head.headers.first(name: "traceparent"))
        let status = Int(answer.status.code)
        let isLast = recorder.record(
            head.method.rawValue,
            shortcut.route,
            status,
            since: start,
            logger(of: requestID, trace)
        )
        var headers = answer.headers
        headers.add(name: "X-Request-Id", value: requestID)
        headers.add(name: "traceparent", value: trace.text)
        headers.add(name: "Date", value: clock.now())
        if isLast { headers.add(name: "Connection", value: "close") }
        return (HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers), answer.body, isLast)
    }

    /// The logger of one request; without metadata where the request is not logged.
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

    // MARK: Answers

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

    /// The next piece of the file; with the last comes the end.
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
        // Nothing was written to it that could be lost.
        try? done.file.close()
        guard isWhole, !done.isLast else { return context.close(promise: nil) }
        let wasHeld = !held.isEmpty
        while sending == nil, !held.isEmpty { take(held.removeFirst(), context) }
        // What is behind hands on what it has read when a read is complete; the one that brought this was long ago.
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

    /// What would have the routes close the connection waits until the file is sent.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        let isEnd = event is ChannelShouldQuiesceEvent || event as? ChannelEvent == .inputClosed
        if sending != nil, isEnd { heldEvents.append(event) } else { context.fireUserInboundEventTriggered(event) }
    }
}
