import Foundation
import NIOCore
import NIOWebSocket

/// The far end of one connection's WebSocket: takes packets apart, answers pings, hands events on.
///
/// Everything in it happens on its channel's event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame
    typealias AcknowledgementPromise = EventLoopPromise<[Data]>

    private enum State { case opening, joining, joined, closed }

    /// How many acknowledgements may be awaited at once.
    private static let maximumPendingAcknowledgements = 1_000
    /// How long the server may take to close after we have.
    private static let closeTimeout = TimeAmount.seconds(2)

    /// The socket's id, once the server has let us in.
    let joined: EventLoopPromise<String>
    private let auth: Data
    private let maximumMessage: Int
    private let maximumQueue: Int
    private let source: SocketIOEvents.Source
    private var context: ChannelHandlerContext?
    private var state = State.opening
    private var closing: SocketIOClosing?
    private var pendingAcknowledgements: [Int: AcknowledgementPromise] = [:]
    private var asked = 0
    private var waiting = 0
    private var silence: TimeAmount = .seconds(45)
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
        finish(error is NIOWebSocketError ? .protocolViolation("a frame that is none") : .lost)
        context.close(promise: nil)
    }

    // MARK: What the server says

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard state != .closed else { return }
        switch frame.opcode {
        case .text: takePacket(frame.unmaskedData)
        case .ping: write(.pong, frame.unmaskedData)
        case .connectionClose: end(.lost, code: nil)
        case .binary: end(.protocolViolation("something binary"), code: .unacceptableData)
        default: break
        }
    }

    private func takePacket(_ packet: ByteBuffer) {
        let bytes = packet.readableBytesView
        switch bytes.first {
        case UInt8(ascii: "0"): open(bytes.dropFirst())
        case UInt8(ascii: "1"): end(.byServer)
        case UInt8(ascii: "2"):
            waitForPing()
            write(.text, ByteBuffer(string: "3"))
        case UInt8(ascii: "4"):
            do {
                take(try Packet(bytes.dropFirst()))
            } catch {
                end(.protocolViolation(error.what), code: .protocolError)
            }
        case UInt8(ascii: "6"): break
        default: end(.protocolViolation("a packet of no kind"), code: .protocolError)
        }
    }

    private func open(_ json: ByteBufferView) {
        struct Opening: Decodable {
            let pingInterval: Int64
            let pingTimeout: Int64
        }
        // Silence: it is said below.
        let opening = try? JSONDecoder().decode(Opening.self, from: Data(json))
        guard state == .opening, let opening, (0...86_400_000).contains(opening.pingInterval),
            (0...86_400_000).contains(opening.pingTimeout)
        else {
            end(.protocolViolation("an opening out of place"), code: .protocolError)
            return
        }
        silence = .milliseconds(opening.pingInterval + opening.pingTimeout)
        waitForPing()
        state = .joining
        write(.text, ByteBuffer(bytes: Data("40".utf8) + auth))
    }

    private func take(_ packet: Packet) {
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
        case (.acknowledgement(let number, let answer), .joined):
            pendingAcknowledgements.removeValue(forKey: number)?.succeed(answer)
        default: end(.protocolViolation("a packet out of place"), code: .protocolError)
        }
    }

    /// Whoever hears no ping for longer than the server said is alone.
    private func waitForPing() {
        silenceTimer?.cancel()
        silenceTimer = context?.eventLoop.assumeIsolated().scheduleTask(in: silence) { self.end(.silent, code: nil) }
    }

    // MARK: Back-pressure

    /// Nothing more is read while nobody takes what was.
    func setPaused(_ paused: Bool) {
        isPaused = paused
        context?.channel.setOption(.autoRead, value: !paused).whenComplete { _ in }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isPaused { setPaused(true) }
        context.fireChannelReadComplete()
    }

    // MARK: What is said to the server

    /// Says something; the promise is kept when it is on its way.
    func say(_ type: Character, _ number: Int?, _ items: [Data], _ promise: EventLoopPromise<Void>?) {
        let text = Packet.text(type, number, items)
        guard state == .joined else { return refuse(.closed(closing ?? .byClient), promise) }
        guard text.count <= maximumMessage else { return refuse(.messageTooLarge, promise) }
        guard waiting + text.count <= maximumQueue, let context else { return refuse(.tooMuchWaiting, promise) }
        waiting += text.count
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in self.waiting -= text.count }
        written.futureResult.cascade(to: promise)
        write(.text, ByteBuffer(bytes: text), written)
    }

    /// Says something that is to be answered.
    func ask(_ items: [Data], timeout: TimeAmount, _ answer: AcknowledgementPromise) {
        guard let context else { return answer.fail(SocketIOClientError.closed(closing ?? .byClient)) }
        guard pendingAcknowledgements.count < Self.maximumPendingAcknowledgements else {
            return answer.fail(SocketIOClientError.tooMuchWaiting)
        }
        let number = asked
        asked += 1
        pendingAcknowledgements[number] = answer
        let timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
            self.pendingAcknowledgements.removeValue(forKey: number)?.fail(SocketIOClientError.timedOut)
        }
        answer.futureResult.whenComplete { _ in timer.cancel() }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenFailure {
            self.pendingAcknowledgements.removeValue(forKey: number)?.fail($0)
        }
        say("2", number, items, written)
    }

    /// Takes leave, and closes.
    func leave() {
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

    // MARK: The end

    /// Says that it is over; the channel goes when the server has seen it, or after some time.
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
