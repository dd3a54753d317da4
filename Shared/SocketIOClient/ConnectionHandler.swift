import Foundation
import NIOCore
import NIOWebSocket

/// Parses packets, answers pings and delivers events of one WebSocket.
///
/// Used only on the channel's event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame
    typealias AcknowledgementPromise = EventLoopPromise<[Data]>

    private enum State { case opening, joining, joined, closed }

    /// The maximum number of pending acknowledgements.
    private static let maximumPendingAcknowledgements = 1_000
    /// How long the server may take to close after the client's close frame.
    private static let closeTimeout = TimeAmount.seconds(2)

    /// Succeeds with the socket's id when the server accepts the connection.
    let joined: EventLoopPromise<String>
    private let auth: Data
    private let maximumMessage: Int
    private let maximumQueue: Int
    private let source: SocketIOEvents.Source
    private var context: ChannelHandlerContext?
    private var state = State.opening
    private var closing: SocketIOClosing?
    private var pendingAcknowledgements: [Int: AcknowledgementPromise] = [:]
    private var nextNumber = 0
    private var queuedBytes = 0
    private var silenceLimit: TimeAmount = .seconds(45)
    private var silenceTimer: Scheduled<Void>?
    private var isPaused = false

    init(_ endpoint: SocketIOEndpoint, auth: Data, source: SocketIOEvents.Source, joined: EventLoopPromise<String>) {
        self.auth = auth
        self.source = source
        self.joined = joined
        maximumMessage = endpoint.maximumMessage
        maximumQueue = endpoint.maximumQueue
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        waitForPing()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(.lost)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.lost)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(error is NIOWebSocketError ? .protocolViolation("an invalid WebSocket frame") : .lost)
        context.close(promise: nil)
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard state != .closed else { return }
        switch frame.opcode {
        case .text: handleMessage(frame.unmaskedData)
        case .ping: write(.pong, frame.unmaskedData)
        case .connectionClose: end(.lost, code: nil)
        case .binary: end(.protocolViolation("a binary message"), code: .unacceptableData)
        default: break
        }
    }

    private func handleMessage(_ packet: ByteBuffer) {
        let bytes = packet.readableBytesView
        switch bytes.first {
        case UInt8(ascii: "0"): open(bytes.dropFirst())
        case UInt8(ascii: "1"): end(.byServer)
        case UInt8(ascii: "2"):
            waitForPing()
            write(.text, ByteBuffer(string: "3"))
        case UInt8(ascii: "4"):
            do {
                handle(try Packet(bytes.dropFirst()))
            } catch {
                end(.protocolViolation(error.reason), code: .protocolError)
            }
        case UInt8(ascii: "6"): break
        default: end(.protocolViolation("an unknown packet type"), code: .protocolError)
        }
    }

    private func open(_ json: ByteBufferView) {
        struct Opening: Decodable {
            let pingInterval: Int64
            let pingTimeout: Int64
        }
        // A decoding error is reported as a protocol violation below.
        let opening = try? JSONDecoder().decode(Opening.self, from: Data(json))
        guard state == .opening, let opening, (0...86_400_000).contains(opening.pingInterval),
            (0...86_400_000).contains(opening.pingTimeout)
        else {
            end(.protocolViolation("an unexpected or invalid opening packet"), code: .protocolError)
            return
        }
        silenceLimit = .milliseconds(opening.pingInterval + opening.pingTimeout)
        waitForPing()
        state = .joining
        write(.text, ByteBuffer(bytes: Data("40".utf8) + auth))
    }

    private func handle(_ packet: Packet) {
        switch (packet, state) {
        case (.connected(let id), .joining):
            state = .joined
            joined.succeed(id)
        case (.refused(let message, let data), .joining):
            joined.fail(SocketIOClientError.refused(message: message, data: data))
            end(.byServer)
        case (.disconnect, _): end(.byServer)
        case (.event(let event), .joined):
            if source.yield(event) == .stopProducing { isPaused = true }
        case (.acknowledgement(let number, let acknowledgement), .joined):
            pendingAcknowledgements.removeValue(forKey: number)?.succeed(acknowledgement)
        default: end(.protocolViolation("an unexpected packet"), code: .protocolError)
        }
    }

    /// Restarts the timer that ends the connection if the server's announced ping does not arrive.
    private func waitForPing() {
        silenceTimer?.cancel()
        silenceTimer = context?.eventLoop.assumeIsolated().scheduleTask(in: silenceLimit) {
            self.end(.silent, code: nil)
        }
    }

    // MARK: Back-pressure

    /// Stops or resumes reading, depending on whether the application consumes events.
    func setPaused(_ paused: Bool) {
        isPaused = paused
        context?.channel.setOption(.autoRead, value: !paused).whenComplete { _ in }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isPaused { setPaused(true) }
        context.fireChannelReadComplete()
    }

    // MARK: Sending

    /// Sends a packet; the promise succeeds when it was written to the socket.
    func send(_ type: Character, _ number: Int?, _ items: [Data], _ promise: EventLoopPromise<Void>?) {
        let text = Packet.text(type, number, items)
        guard state == .joined else { return refuse(.closed(closing ?? .byClient), promise) }
        guard text.count <= maximumMessage else { return refuse(.messageTooLarge, promise) }
        guard queuedBytes + text.count <= maximumQueue, let context else { return refuse(.tooMuchWaiting, promise) }
        queuedBytes += text.count
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in self.queuedBytes -= text.count }
        written.futureResult.cascade(to: promise)
        write(.text, ByteBuffer(bytes: text), written)
    }

    /// Sends an event and waits for its acknowledgement.
    func request(_ items: [Data], timeout: TimeAmount, _ acknowledgement: AcknowledgementPromise) {
        guard let context else { return acknowledgement.fail(SocketIOClientError.closed(closing ?? .byClient)) }
        guard pendingAcknowledgements.count < Self.maximumPendingAcknowledgements else {
            return acknowledgement.fail(SocketIOClientError.tooMuchWaiting)
        }
        let number = nextNumber
        nextNumber += 1
        pendingAcknowledgements[number] = acknowledgement
        let timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
            self.pendingAcknowledgements.removeValue(forKey: number)?.fail(SocketIOClientError.timedOut)
        }
        acknowledgement.futureResult.whenComplete { _ in timer.cancel() }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenFailure {
            self.pendingAcknowledgements.removeValue(forKey: number)?.fail($0)
        }
        send("2", number, items, written)
    }

    /// Disconnects from the namespace and closes the connection.
    func disconnect() {
        guard state != .closed else { return }
        if state == .joined { write(.text, ByteBuffer(string: "41")) }
        end(.byClient)
    }

    private func refuse(_ error: SocketIOClientError, _ promise: EventLoopPromise<Void>?) {
        promise?.fail(error)
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ promise: EventLoopPromise<Void>? = nil) {
        guard let context else {
            promise?.fail(SocketIOClientError.closed(closing ?? .lost))
            return
        }
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
        context.writeAndFlush(wrapOutboundOut(frame), promise: promise)
    }

    // MARK: Closing

    /// Sends a close frame; the channel closes when the server answers it, or after ``closeTimeout``.
    private func end(_ closing: SocketIOClosing, code: WebSocketErrorCode? = .normalClosure) {
        guard let context, state != .closed else { return }
        var reason = ByteBuffer()
        if let code { reason.write(webSocketErrorCode: code) }
        write(.connectionClose, reason)
        finish(closing)
        guard closing == .byClient else { return context.close(promise: nil) }
        setPaused(false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeTimeout) { self.context?.close(promise: nil) }
    }

    private func finish(_ closing: SocketIOClosing) {
        silenceTimer?.cancel()
        guard state != .closed else { return }
        state = .closed
        self.closing = closing
        let error = SocketIOClientError.closed(closing)
        joined.fail(error)
        pendingAcknowledgements.values.forEach { $0.fail(error) }
        pendingAcknowledgements = [:]
        source.finish(error)
    }
}
