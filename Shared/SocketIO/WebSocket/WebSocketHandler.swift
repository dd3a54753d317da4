import NIOCore
import Synchronization

/// A complete message from a client.
struct WebSocketMessage: Sendable {
    let content: EngineMessage
    let lease: PayloadLease?
}

/// The WebSocket of a connection, or one that probes for an upgrade.
///
/// It is alone in its pipeline except for TLS.
///
/// The channel may run on another event loop than the connection, because a polling client's WebSocket is a new TCP
/// connection. The mutable state is used only on the channel's loop, which makes the unchecked conformance correct.
final class WebSocketHandler: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case open
        /// A close frame was sent; the handler waits for the client to close.
        case finishing
        case closed
    }

    /// How long the client may take to close.
    private static let timeout = TimeAmount.seconds(2)

    private let connection: EngineConnection
    private let eventLoop: any EventLoop
    private let isLocal: Bool
    private var context: ChannelHandlerContext?
    private var state = State.open
    private var decoder = FrameDecoder()
    private var input = ByteBuffer()
    private var isDecoding = false
    private var isPaused = false
    private var isReadPending = false
    private var forwarded: [WebSocketMessage] = []
    private var closeTimer: Scheduled<Void>?
    private let canWrite = Atomic(true)

    init(connection: EngineConnection, eventLoop: any EventLoop) {
        self.connection = connection
        self.eventLoop = eventLoop
        isLocal = connection.loop.eventLoop === eventLoop
    }

    // MARK: Calls from the connection's loop

    /// Whether the client reads fast enough for more data.
    var isWritable: Bool { canWrite.load(ordering: .relaxed) }

    func write(_ frames: Outbox) {
        onEventLoop { handler in
            frames.forEach { handler.context?.write(handler.wrapOutboundOut($0), promise: nil) }
            handler.context?.flush()
        }
    }

    func write(_ frame: ByteBuffer) {
        onEventLoop { $0.writeNow(frame) }
    }

    /// Writes the remaining frames and a close frame.
    func finish(_ frames: Outbox) {
        if !frames.isEmpty { write(frames) }
        finish()
    }

    func finish(_ code: UInt16? = nil) {
        onEventLoop { $0.finishNow(code) }
    }

    func abort() {
        onEventLoop { $0.context?.close(promise: nil) }
    }

    func setPaused(_ paused: Bool) {
        onEventLoop { $0.pause(paused) }
    }

    private func onEventLoop(_ body: @escaping @Sendable (WebSocketHandler) -> Void) {
        if eventLoop.inEventLoop {
            body(self)
        } else {
            eventLoop.execute { body(self) }
        }
    }

    // MARK: On the channel's loop

    private func writeNow(_ frame: ByteBuffer) {
        guard state == .open else { return }
        context?.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    /// Sends a close frame and closes the output half only: a full close could discard data that the client has not
    /// read.
    private func finishNow(_ code: UInt16?) {
        guard state == .open, let context else { return }
        state = .finishing
        input = ByteBuffer()
        let payload = code.map { ByteBuffer(integer: $0) } ?? ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(.frame(.close, payload)), promise: nil)
        context.close(mode: .output, promise: nil)
        pause(false)
        closeTimer = eventLoop.assumeIsolated().scheduleTask(in: Self.timeout) { self.context?.close(promise: nil) }
    }

    private func pause(_ paused: Bool) {
        guard isPaused != paused else { return }
        isPaused = paused
        guard !paused else { return }
        // During decoding, the loop in `decode` continues with the next message by itself.
        decode()
        if isReadPending, !isPaused {
            isReadPending = false
            context?.read()
        }
    }

    private func notify(_ body: @escaping @Sendable (EngineConnection) -> Void) {
        let connection = connection
        connection.loop.perform { body(connection) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func read(context: ChannelHandlerContext) {
        if isPaused {
            isReadPending = true
        } else {
            context.read()
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state == .open else { return }
        var bytes = unwrapInboundIn(data)
        if input.readableBytes == 0 {
            input = bytes
        } else {
            input.writeBuffer(&bytes)
        }
        decode()
    }

    private func decode() {
        guard !isDecoding else { return }
        isDecoding = true
        defer { isDecoding = false }
        do {
            let ledger = connection.core.payloads
            while state == .open, !isPaused,
                let message = try decoder.next(&input, limit: connection.maxPayload, ledger: ledger)
            {
                handle(message)
            }
        } catch {
            finishNow(error.rawValue)
            notify { $0.lost(self, .transportError) }
        }
        forward()
        if input.readableBytes == 0 || state != .open {
            input = ByteBuffer()
        } else if !isPaused {
            // A partial header does not justify keeping the read buffer.
            input = ByteBuffer(bytes: input.readableBytesView)
        }
    }

    private func handle(_ message: FrameDecoder.Message) {
        switch message {
        case .message(let message): deliver(message)
        case .ping(let bytes): if isWritable { writeNow(.frame(.pong, bytes)) }
        case .pong: break
        case .close(let code):
            forward()
            finishNow(code)
            notify { $0.lost(self, .transportClose) }
        }
    }

    private func deliver(_ message: WebSocketMessage) {
        if isLocal {
            connection.receive(message, from: self)
        } else {
            forwarded.append(message)
        }
    }

    /// Sends the messages of one read to the connection's loop, one command each, so that the effects of a message's
    /// callback precede the next message.
    private func forward() {
        let messages = forwarded
        forwarded = []
        for message in messages { notify { $0.receive(message, from: self) } }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        canWrite.store(context.channel.isWritable, ordering: .relaxed)
        if context.channel.isWritable { notify { $0.flush() } }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        state = .closed
        closeTimer?.cancel()
        closeTimer = nil
        input = ByteBuffer()
        notify { $0.lost(self, .transportClose) }
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            // A client that half-closes has disconnected; the server must close the connection.
            context.close(promise: nil)
        case is ChannelShouldQuiesceEvent:
            notify { $0.close(.serverShuttingDown) }
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
