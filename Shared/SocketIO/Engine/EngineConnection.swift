public import NIOCore
import NIOHTTP1
import Synchronization

/// One client's connection: a session of Engine.IO, whatever transport it goes over at the moment.
///
/// It may be used from any thread; what belongs to its event loop is touched there alone.
public final class EngineConnection: @unchecked Sendable {
    enum Stage {
        case polling
        case streaming
        /// Closed, but a client that polls has not been told yet.
        case leaving(PollingPacket, until: NIODeadline)
        case closed
    }

    /// Who knows it is the client: never tell it to another, nor to a log.
    public let id: String
    public let revision: EngineRevision
    /// Where the opening request came from.
    public let remoteAddress: SocketAddress?

    let core: EngineCore
    let loop: EngineLoop
    let handler: any EngineHandler
    private let payloadLimit: Atomic<Int>
    /// Whether binary goes out as base64 on a WebSocket too.
    let wantsBase64: Bool

    // On the loop alone.
    var stage: Stage
    /// What it counts by until it is admitted.
    var unjoinedKey: String?
    var head: HTTPRequestHead?
    var polling: PollingTransport?
    var webSocket: WebSocketHandler?
    var outbox = Outbox()
    var isDirty = false
    var heartbeat = Heartbeat(at: .now())
    /// Until when it must be in a namespace.
    var connectBy: NIODeadline?
    /// That of the message that is being taken.
    var lease: PayloadLease?
    /// How many reasons there are not to read from the client.
    var holds = 0
    /// What the Socket.IO above it keeps.
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

    /// The event loop that its callbacks run on.
    public var eventLoop: any EventLoop { loop.eventLoop }

    var maxPayload: Int { payloadLimit.load(ordering: .relaxed) }

    /// How many bytes a message of the client may have from now on.
    public func setMaxPayload(_ bytes: Int) {
        payloadLimit.store(bytes, ordering: .relaxed)
    }

    /// Ends its counting by ``SocketIOConfiguration/unjoinedKey``, as after a sign-in.
    public func admit() {
        loop.perform { self.core.admit(self) }
    }

    /// Sends a message; not for a connection of a ``SocketIOServer``.
    public func send(_ message: EngineMessage) {
        let packet = OutgoingPacket(message)
        loop.perform { self.sendNow(packet) }
    }

    /// Closes the connection; clients come back unless told not to.
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

    /// Tells the client what it has to know, and the application that there is a client.
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

    /// Frames that others get too.
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

    /// Puts what was said to rooms in this tick before what is said next.
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

    /// Writes what has gathered, as far as the client reads.
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
            webSocket.write(outbox.take())
        } else if outbox.bytes > core.configuration.limits.bufferedBytes {
            // It gets nothing more: what it missed it has to ask for when it comes back.
            closeNow(.transportError, .abrupt)
        }
    }

    /// Stops reading from the client until as many ``releaseReading()`` have followed.
    func holdReading() {
        holds += 1
        if holds == 1 { webSocket?.setPaused(true) }
    }

    func releaseReading() {
        holds -= 1
        // Not at once: somebody may be in the middle of what was read before.
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
