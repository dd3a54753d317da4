public import NIOCore
public import NIOHTTP1

/// Answers the requests of Socket.IO in the pipeline of an HTTP/1 server and lets all others through.
///
/// It belongs right behind the HTTP/1 decoder and encoder, before any `HTTPServerPipelineHandler`: it keeps the order of
/// answers itself, since it must go on reading while a poll waits, to see that a client has gone. A keep-alive
/// connection may mix requests for both sides.
///
/// When a connection becomes a WebSocket, everything of HTTP before it is removed. Handlers behind it stay, but hear of
/// nothing but the end, so a server had better not put them there before they are needed: `next` is called once, before
/// the first request that goes through.
///
/// ```swift
/// try SocketIOGate.addHTTP(to: channel)
/// let gate = SocketIOGate(server) { channel in
///     try channel.pipeline.syncOperations.addHandler(NotFound())
/// }
/// try channel.pipeline.syncOperations.addHandler(gate)
/// ```
///
/// Until the first request that goes through, the gate sees to it that requests come in within
/// ``SocketIOLimits/requestTimeout``, and that nobody is idle for longer than ``SocketIOLimits/idleTimeout``.
public final class SocketIOGate: ChannelDuplexHandler, RemovableChannelHandler {
    public typealias InboundIn = HTTPServerRequestPart
    public typealias InboundOut = HTTPServerRequestPart
    public typealias OutboundIn = HTTPServerResponsePart
    public typealias OutboundOut = HTTPServerResponsePart

    /// What a connection turned out to be.
    public enum Use: Hashable, Sendable {
        /// A request went through: `next` was called.
        case other
        /// It is a WebSocket, and nobody else's any more.
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
    /// How many requests that went through have not been answered yet.
    private var unanswered = 0
    /// What has to wait until an answer is out.
    private var held = CircularBuffer<HTTPServerRequestPart>(initialCapacity: 0)
    private var isReadPending = false
    var isQuiescing = false
    var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - server: whose requests are answered.
    ///   - next: puts the handlers of all other requests behind this one.
    ///   - used: called once when it is known what the connection is for; not at all for one that closes before.
    public convenience init(
        _ server: SocketIOServer,
        next: @escaping @Sendable (any Channel) throws -> Void,
        used: (@Sendable (Use) -> Void)? = nil
    ) {
        self.init(server.core, server.handler, next: next, used: used)
    }

    /// The same for an ``EngineServer``.
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

    // MARK: Coming and going

    public func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        AdaptiveReadAllocator.use(on: context.channel)
        if context.channel.isActive { expect(core.configuration.limits.requestTimeout) }
    }

    public func handlerRemoved(context: ChannelHandlerContext) {
        expect(nil)
        self.context = nil
    }

    public func channelActive(context: ChannelHandlerContext) {
        expect(core.configuration.limits.requestTimeout)
        context.fireChannelActive()
    }

    public func channelInactive(context: ChannelHandlerContext) {
        abandon()
        phase = .over
        held.removeAll()
        expect(nil)
        context.fireChannelInactive()
    }

    /// The client has gone, or nearly so.
    private func abandon() {
        guard case .waiting(let exchange, let connection, _) = phase else { return }
        phase = .over
        connection.loop.perform { connection.aborted(exchange) }
    }

    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed where !hasNext:
            // Nobody else is there to close what will not be asked anything more.
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
            take(part, context)
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
        EngineRequest.isMeant(head.uri, path: core.configuration.path)
    }

    private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
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
            expect(nil)
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
            expect(nil)
            do { try next(context.channel) } catch { return context.close(promise: nil) }
            used?(.other)
        }
        phase = .passing
        unanswered += 1
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Nothing is read while something is held, so that only what one read brought is.
    public func read(context: ChannelHandlerContext) {
        if held.isEmpty {
            context.read()
        } else {
            isReadPending = true
        }
    }

    // MARK: Answers

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        context.write(data, promise: promise)
        guard case .end = part else { return }
        unanswered -= 1
        takeHeld()
    }

    /// What waited for an answer to be out.
    func takeHeld() {
        let wasHeld = held.count
        while let context, let part = held.first, !mustWait(part) {
            held.removeFirst()
            take(part, context)
        }
        // What is behind hands on what it has read when a read is complete; the one that brought this was long ago.
        if held.count < wasHeld { context?.fireChannelReadComplete() }
        guard held.isEmpty, isReadPending else { return }
        isReadPending = false
        context?.read()
    }
}
