public import NIOCore
import NIOHTTP1
import Synchronization

/// A client's Engine.IO session, over whichever transport it currently uses.
///
/// The public methods may be called from any thread. The mutable state is used only on the connection's event loop,
/// which makes the unchecked conformance correct.
public final class EngineConnection: @unchecked Sendable {
    enum Stage {
        case polling
        case streaming
        /// Closed, but the polling client has not fetched the closing packet.
        case leaving(PollingPacket, until: NIODeadline)
        case closed
    }

    /// The session id.
    ///
    /// It authenticates the client: never log it or send it to another client.
    public let id: String
    /// The protocol revision that the client chose.
    public let revision: EngineRevision
    /// The peer address of the opening request.
    public let remoteAddress: SocketAddress?

    let core: EngineCore
    let loop: EngineLoop
    let handler: any EngineHandler
    private let payloadLimit: Atomic<Int>
    /// Whether binary messages are sent as base64, on a WebSocket too.
    let wantsBase64: Bool

    // Used only on the event loop.
    var stage: Stage
    /// The key of ``SocketIOLimits/unjoinedPerKey`` that counts the connection until it is admitted.
    var unjoinedKey: String?
    var head: HTTPRequestHead?
    var polling: PollingTransport?
    var webSocket: WebSocketHandler?
    var outbox = Outbox()
    var isDirty = false
    var heartbeat = Heartbeat(at: .now())
    /// The deadline to connect to a namespace.
    var connectBy: NIODeadline?
    /// The lease of the message that is being handled.
    var lease: PayloadLease?
    /// The number of unreleased calls of ``holdReading()``.
    var holds = 0
    /// The Socket.IO state of the connection.
    var client: Client?
    var turn: UInt64 = 0

    init(
        core: EngineCore,
        loop: EngineLoop,
        handler: any EngineHandler,
        request: EngineRequest,
        remoteAddress: SocketAddress?
    ) {
        id = RandomID.make(prefix: core.configuration.sessionTag(request.head))
        revision = request.revision
        wantsBase64 = request.wantsBase64
        self.remoteAddress = remoteAddress
        self.core = core
        self.loop = loop
        self.handler = handler
        payloadLimit = Atomic(core.configuration.maxPayload)
        head = request.head
        unjoinedKey = core.configuration.unjoinedKey(request.head, remoteAddress)
        stage = request.isWebSocket ? .streaming : .polling
        if !request.isWebSocket { polling = PollingTransport(acceptsBinary: !request.wantsBase64) }
    }

    /// The event loop on which the connection's callbacks run.
    public var eventLoop: any EventLoop { loop.eventLoop }

    var maxPayload: Int { payloadLimit.load(ordering: .relaxed) }

    /// Sets the largest size of the client's next messages, in bytes.
    ///
    /// The initial value is ``SocketIOConfiguration/maxPayload``. Applications raise it after a sign-in.
    public func setMaxPayload(_ bytes: Int) {
        payloadLimit.store(bytes, ordering: .relaxed)
    }

    /// Stops counting the connection against ``SocketIOLimits/unjoinedPerKey``, for example after a sign-in.
    public func admit() {
        loop.perform { self.core.admit(self) }
    }

    /// Sends a message over a connection of an ``EngineServer``.
    ///
    /// Do not call it on a connection of a ``SocketIOServer``: the client would not recognise the packet.
    public func send(_ message: EngineMessage) {
        let packet = OutgoingPacket(message)
        loop.perform { self.sendNow(packet) }
    }

    /// Closes the connection; most clients reconnect by themselves.
    public func close() {
        close(.forcedClose)
    }

    func close(_ reason: DisconnectReason) {
        loop.perform { self.closeNow(reason) }
    }

    // MARK: On the loop

    var isStreaming: Bool {
        if case .streaming = stage { true } else { false }
    }

    var isOpen: Bool {
        switch stage {
        case .polling, .streaming: true
        case .leaving, .closed: false
        }
    }

    /// Sends the opening packet and notifies the handler.
    func start() {
        heartbeat = Heartbeat(opened: loop.eventLoop.now, revision, core.configuration)
        loop.wheel.watch(self)
        let upgrades = !isStreaming && core.configuration.allowsUpgrades ? #""websocket""# : ""
        let open = OutgoingPacket(
            text: ByteBuffer(
                string: #"0{"sid":"\#(id)","upgrades":[\#(upgrades)],"#
                    + #""pingInterval":\#(core.configuration.pingInterval.milliseconds),"#
                    + #""pingTimeout":\#(core.configuration.pingTimeout.milliseconds),"#
                    + #""maxPayload":\#(core.configuration.announcedMaxPayload ?? maxPayload)}"#
            )
        )
        sendNow(open)
        flush()
        loop.exclusively { handler.opened(self) }
    }

    func sendNow(_ packet: OutgoingPacket) {
        switch stage {
        case .polling:
            polling?.append(packet)
            markDirty()
        case .streaming:
            catchUp()
            if packet.hasText { outbox.append(textOf: packet) }
            for attachment in packet.attachments { outbox.append(frame(of: attachment)) }
            markDirty()
        case .leaving, .closed:
            break
        }
    }

    /// Queues frames that are shared with other members of a room.
    func append(_ frames: ByteBuffer) {
        guard isStreaming else { return }
        outbox.append(frames)
        markDirty()
    }

    private func markDirty() {
        guard !isDirty else { return }
        isDirty = true
        loop.markDirty(self)
    }

    /// Queues the frames of the open room tick before the next packet, which keeps the order.
    private func catchUp() {
        guard loop.tick != nil, let client else { return }
        for socket in client.sockets { loop.catchUp(socket) }
    }

    private func frame(of attachment: ByteBuffer) -> ByteBuffer {
        if wantsBase64 {
            var text = ByteBuffer(string: revision == .three ? "b4" : "b")
            Base64.encode(attachment, into: &text)
            return .frame(.text, text)
        }
        guard revision == .three else { return .frame(.binary, attachment) }
        var typed = ByteBuffer(integer: UInt8(4))
        typed.writeImmutableBuffer(attachment)
        return .frame(.binary, typed)
    }

    /// Writes the queued packets if the client can receive them.
    func flush() {
        isDirty = false
        switch stage {
        case .polling: flushPolling()
        case .streaming: flushStream()
        case .leaving, .closed: break
        }
    }

    private func flushStream() {
        guard let webSocket, !outbox.isEmpty else { return }
        if webSocket.isWritable {
            webSocket.write(outbox.drain())
        } else if outbox.bytes > core.configuration.limits.bufferedBytes {
            // The client missed events; it must request them after it reconnects.
            closeNow(.transportError, .abrupt)
        }
    }

    /// Pauses reading from the client until ``releaseReading()`` was called the same number of times.
    func holdReading() {
        holds += 1
        if holds == 1 { webSocket?.setPaused(true) }
    }

    func releaseReading() {
        holds -= 1
        // Deferred, because the caller may be in the middle of handling data that was read before.
        eventLoop.assumeIsolated().execute {
            guard self.holds == 0 else { return }
            self.webSocket?.setPaused(false)
            self.continuePost()
        }
    }
}

extension Duration {
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
