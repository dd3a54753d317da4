public import NIOCore
public import NIOHTTP1

/// A channel handler that answers Socket.IO requests in an HTTP/1 pipeline and forwards all others.
///
/// Add it directly after the HTTP/1 decoder and encoder, before any `HTTPServerPipelineHandler`. The gate keeps the
/// order of responses itself, since it must read while a poll waits, to detect a client that disconnects. A keep-alive
/// connection may mix both kinds of requests.
///
/// When a connection becomes a WebSocket, the gate removes the HTTP handlers before it. Handlers after the gate stay
/// and receive only the channel's closing. Therefore add them in `next`, which the gate calls once, before it forwards
/// the first request.
///
/// ```swift
/// try SocketIOGate.addHTTP(to: channel)
/// let gate = SocketIOGate(server) { channel in
///     try channel.pipeline.syncOperations.addHandler(NotFound())
/// }
/// try channel.pipeline.syncOperations.addHandler(gate)
/// ```
///
/// Until the first forwarded request, the gate closes connections that exceed ``SocketIOLimits/requestTimeout`` or
/// ``SocketIOLimits/idleTimeout``.
public final class SocketIOGate: ChannelDuplexHandler, RemovableChannelHandler {
    public typealias InboundIn = HTTPServerRequestPart
    public typealias InboundOut = HTTPServerRequestPart
    public typealias OutboundIn = HTTPServerResponsePart
    public typealias OutboundOut = HTTPServerResponsePart

    /// The kind of traffic on a connection.
    public enum Use: Hashable, Sendable {
        /// The gate forwarded a request and called `next`.
        case other
        /// The connection became a WebSocket and carries nothing else.
        case webSocket
    }

    let core: EngineCore
    let handler: any EngineHandler
    private let next: @Sendable (any Channel) throws -> Void
    let used: (@Sendable (Use) -> Void)?
    let origins: OriginPolicy

    var context: ChannelHandlerContext?
    var phase = Phase.idle
    var hasNext = false
    /// The number of forwarded requests without a response yet.
    private var unanswered = 0
    /// Request parts that wait until the current response is sent.
    private var held = CircularBuffer<HTTPServerRequestPart>(initialCapacity: 0)
    private var isReadPending = false
    var isQuiescing = false
    var timer: Scheduled<Void>?

    /// Creates a handler for one channel.
    ///
    /// - Parameters:
    ///   - server: The server that answers the requests under its path.
    ///   - next: Adds the handlers for all other requests after the gate. If it throws, the gate closes the connection.
    ///   - used: Called once when the connection's kind is known; never for a connection that closes before.
    public convenience init(
        _ server: SocketIOServer,
        next: @escaping @Sendable (any Channel) throws -> Void,
        used: (@Sendable (Use) -> Void)? = nil
    ) {
        self.init(server.core, server.handler, next: next, used: used)
    }

    /// Creates a handler for one channel of an ``EngineServer``; the parameters are the same.
    public convenience init(
        _ server: EngineServer,
        next: @escaping @Sendable (any Channel) throws -> Void,
        used: (@Sendable (Use) -> Void)? = nil
    ) {
        self.init(server.core, server.handler, next: next, used: used)
    }

    private init(
        _ core: EngineCore,
        _ handler: any EngineHandler,
        next: @escaping @Sendable (any Channel) throws -> Void,
        used: (@Sendable (Use) -> Void)?
    ) {
        self.core = core
        self.handler = handler
        self.next = next
        self.used = used
        origins = OriginPolicy(
            allowed: core.configuration.origins,
            allowsCredentials: core.configuration.allowsCredentials
        )
    }

    // MARK: Lifecycle

    public func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        AdaptiveReadAllocator.use(on: context.channel)
        if context.channel.isActive { setTimeout(core.configuration.limits.requestTimeout) }
    }

    public func handlerRemoved(context: ChannelHandlerContext) {
        setTimeout(nil)
        self.context = nil
    }

    public func channelActive(context: ChannelHandlerContext) {
        setTimeout(core.configuration.limits.requestTimeout)
        context.fireChannelActive()
    }

    public func channelInactive(context: ChannelHandlerContext) {
        abandon()
        phase = .over
        held.removeAll()
        setTimeout(nil)
        context.fireChannelInactive()
    }

    /// Notifies the session that the client of a waiting request has disconnected.
    private func abandon() {
        guard case .waiting(let exchange, let connection, _) = phase else { return }
        phase = .over
        connection.loop.perform { connection.aborted(exchange) }
    }

    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed where !hasNext:
            // The gate must close the connection itself when no other handler was added.
            abandon()
            context.close(promise: nil)
        case ChannelEvent.inputClosed:
            abandon()
        case is ChannelShouldQuiesceEvent:
            quiesce(context)
        default:
            break
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func quiesce(_ context: ChannelHandlerContext) {
        isQuiescing = true
        switch phase {
        case .waiting(_, let connection, _): connection.close(.serverShuttingDown)
        case .idle where !hasNext: context.close(promise: nil)
        default: break
        }
    }

    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !hasNext else { return context.fireErrorCaught(error) }
        if error is HTTPParserError, case .idle = phase {
            phase = .discarding
            respond(.status(.badRequest, isLast: true), to: HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"))
        }
        context.close(promise: nil)
    }

    // MARK: Requests

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if !held.isEmpty || mustWait(part) {
            held.append(part)
        } else {
            process(part, context)
        }
    }

    private func mustWait(_ part: HTTPServerRequestPart) -> Bool {
        switch phase {
        case .waiting: return true
        case .idle:
            guard unanswered > 0, case .head(let head) = part else { return false }
            return isOurs(head)
        default: return false
        }
    }

    private func isOurs(_ head: HTTPRequestHead) -> Bool {
        EngineRequest.matches(head.uri, path: core.configuration.path)
    }

    private func process(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch (phase, part) {
        case (.idle, .head(let head)):
            if isOurs(head) {
                begin(head)
            } else {
                pass(head, context)
            }
        case (.passing, let part):
            context.fireChannelRead(wrapInboundOut(part))
            if case .end = part { phase = .idle }
        case (.receiving, .body(let bytes)):
            receive(bytes)
        case (.receiving(let incoming), .end):
            setTimeout(nil)
            perform(incoming)
        case (.discarding, .end):
            context.close(promise: nil)
        default:
            break
        }
    }

    private func pass(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        if !hasNext {
            hasNext = true
            setTimeout(nil)
            do { try next(context.channel) } catch { return context.close(promise: nil) }
            used?(.other)
        }
        phase = .passing
        unanswered += 1
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Reads nothing while parts are held, so that at most the data of one read is held.
    public func read(context: ChannelHandlerContext) {
        if held.isEmpty {
            context.read()
        } else {
            isReadPending = true
        }
    }

    // MARK: Responses

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        context.write(data, promise: promise)
        guard case .end = part else { return }
        unanswered -= 1
        processHeld()
    }

    /// Processes the parts that waited for a response.
    func processHeld() {
        let wasHeld = held.count
        while let context, let part = held.first, !mustWait(part) {
            held.removeFirst()
            process(part, context)
        }
        // Later handlers flush when a read completes, and the read that delivered these parts completed long ago.
        if held.count < wasHeld { context?.fireChannelReadComplete() }
        guard held.isEmpty, isReadPending else { return }
        isReadPending = false
        context?.read()
    }
}
