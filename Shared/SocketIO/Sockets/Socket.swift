import Locks
public import NIOCore
import Synchronization

/// A client connected to a namespace.
///
/// It may be used from any thread. What is said from one thread arrives in that order; nothing is sent to a socket that
/// is not connected, and nobody is told.
public final class Socket: @unchecked Sendable {
    /// What other threads may ask for.
    private struct Shared {
        var data: [ObjectIdentifier: any Sendable] = [:]
        var calls: CallQueue?
    }

    /// Unguessable, and not the secret one of the connection: others may know it.
    public let id: String
    public let namespace: Namespace
    public let connection: EngineConnection

    let handlers: NamespaceHandlers
    private let shared = Lock(Shared())
    private let state = Atomic<UInt8>(0)

    // On the connection's loop alone.
    var rooms: [EventLoopRoom] = []
    /// A callback has disconnected it: what its client said meanwhile is not passed on.
    private var isEnding = false
    private var seenSerial: UInt64 = 0
    private var seenBytes = 0
    private var awaited: PendingAcknowledgements?

    init(id: String, namespace: Namespace, connection: EngineConnection) {
        self.id = id
        self.namespace = namespace
        self.connection = connection
        handlers = namespace.handlers
    }

    /// The event loop that its callbacks run on.
    public var eventLoop: any EventLoop { connection.eventLoop }

    /// Whether the client is connected to the namespace at this moment.
    public var isConnected: Bool { state.load(ordering: .acquiring) == 1 }

    /// Whether it was connected, or was not to be.
    var isEnded: Bool { state.load(ordering: .acquiring) == 2 }

    // MARK: Saying

    /// Says an event.
    public func emit(_ event: String, _ arguments: SocketArguments = .none) {
        let packet = OutgoingPacket(event: event, arguments, namespace: namespace)
        onLoop { $0.send(packet) }
    }

    /// Says an event and calls back with the answer, on the event loop.
    public func emit(
        _ event: String,
        _ arguments: SocketArguments = .none,
        timeout: Duration,
        then body: @escaping @Sendable (Result<SocketArguments, AcknowledgementError>) -> Void
    ) {
        connection.loop.perform { [self] in
            guard isConnected else { return call { body(.failure(.disconnected)) } }
            guard let id = self.await(timeout, body) else { return call { body(.failure(.tooMany)) } }
            send(OutgoingPacket(event: event, arguments, namespace: namespace, id: id))
        }
    }

    /// Says an event and waits for the answer.
    ///
    /// - Throws: ``AcknowledgementError``
    public func emit(
        _ event: String,
        _ arguments: SocketArguments = .none,
        timeout: Duration
    ) async throws -> SocketArguments {
        try await withCheckedThrowingContinuation { continuation in
            emit(event, arguments, timeout: timeout) { continuation.resume(with: $0) }
        }
    }

    /// Those in any of the rooms, without this one.
    public func to(_ rooms: SocketRoom...) -> SocketBroadcast {
        namespace.to(rooms: rooms).except(self)
    }

    // MARK: Rooms

    /// Joins a room; what is said to it from now on arrives.
    public func join(_ room: SocketRoom) {
        onLoop { if $0.isConnected { $0.connection.loop.enter($0, room) } }
    }

    public func leave(_ room: SocketRoom) {
        onLoop { $0.connection.loop.exit($0, room) }
    }

    // MARK: The end

    /// Ends the client's connection to the namespace, and it will not come back by itself.
    ///
    /// - Parameter close: whether the whole connection ends, with all its namespaces.
    public func disconnect(close: Bool = false) {
        if eventLoop.inEventLoop {
            isEnding = true
            // The callback that decides about it may refuse it so; then it is never connected.
            if !isConnected { state.store(2, ordering: .releasing) }
        }
        connection.loop.perform { self.disconnectNow(close: close) }
    }

    // MARK: What takes longer

    /// Runs something after everything that was given here before, without holding up the event loop.
    ///
    /// So requests of a socket are answered in order. While more than ``SocketIOLimits/queuedCalls`` wait, nothing is
    /// read from the client; a task exists only while something waits. What waits when the socket is disconnected still
    /// runs.
    public func perform(_ body: @escaping @Sendable () async -> Void) {
        Locks.assertNoneHeld("use a socket")
        let calls = shared.withLock { shared in
            if let calls = shared.calls { return calls }
            let made = CallQueue(connection: connection, limit: connection.core.configuration.limits.queuedCalls)
            shared.calls = made
            return made
        }
        calls.append(body)
    }

    // MARK: What belongs to it

    /// What the application keeps with the socket.
    public subscript<Key: SocketDataKey>(_ key: Key.Type) -> Key.Value? {
        get { shared.withLock { $0.data[ObjectIdentifier(key)] as? Key.Value } }
        set {
            // The former value is released without the lock: its deinit is not ours.
            _ = shared.withLock { shared in
                defer { shared.data[ObjectIdentifier(key)] = newValue }
                return shared.data[ObjectIdentifier(key)]
            }
        }
    }
}

extension Socket: Hashable {
    public static func == (one: Socket, other: Socket) -> Bool { one === other }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

// MARK: - On the connection's loop

extension Socket {
    /// Does what calls no callback: at once, where nothing was sent to the loop before and not done yet.
    private func onLoop(_ body: @escaping @Sendable (Socket) -> Void) {
        Locks.assertNoneHeld("use a socket")
        if connection.eventLoop.inEventLoop, connection.loop.isUpToDate {
            body(self)
        } else {
            connection.loop.perform { body(self) }
        }
    }

    /// Calls the application back.
    private func call(_ body: () -> Void) {
        connection.loop.exclusively(body)
    }

    private func send(_ packet: OutgoingPacket) {
        if isConnected { connection.sendNow(packet) }
    }

    func acknowledge(_ id: UInt64, _ arguments: SocketArguments) {
        let packet = OutgoingPacket(acknowledging: id, arguments, namespace: namespace)
        onLoop { $0.send(packet) }
    }

    func connected() {
        state.store(1, ordering: .releasing)
        connection.loop.add(self, to: connection.loop.state(of: namespace).allSockets)
    }

    func disconnected(_ reason: DisconnectReason) {
        state.store(2, ordering: .releasing)
        call {
            awaited?.failAll()
            awaited = nil
            handlers.disconnect?(self, reason)
        }
    }

    func disconnectNow(close: Bool) {
        if isConnected {
            let name = namespace.name == "/" ? "" : "\(namespace.name),"
            connection.sendNow(OutgoingPacket(text: ByteBuffer(string: "41\(name)")))
            connection.client?.leave(self, .serverNamespaceDisconnect)
        } else {
            state.store(2, ordering: .releasing)
        }
        if close { connection.closeNow(.serverNamespaceDisconnect) }
    }

    func received(_ event: String, _ arguments: SocketArguments, _ leases: [PayloadLease], id: UInt64?) {
        guard !isEnding, let body = handlers.events[event] ?? handlers.anyOther else { return }
        let acknowledgement = id.map { SocketAcknowledgement(socket: self, id: $0) }
        body(self, SocketEvent(name: event, arguments: arguments, acknowledgement: acknowledgement, leases: leases))
    }

    func received(answer: SocketArguments, to id: UInt64) {
        awaited?.take(id)?(.success(answer))
    }

    private func await(
        _ timeout: Duration,
        _ body: @escaping @Sendable (Result<SocketArguments, AcknowledgementError>) -> Void
    ) -> UInt64? {
        let answers = awaited ?? PendingAcknowledgements(loop: connection.loop)
        awaited = answers
        guard answers.count < connection.core.configuration.limits.acknowledgements else { return nil }
        return answers.add(timeout, body)
    }

    // MARK: The open tick of a room

    /// What this socket has not had yet of it.
    func unseen(of tick: RoomTick) -> ByteBuffer {
        guard seenSerial == tick.serial else { return tick.frames }
        let length = tick.frames.writerIndex - seenBytes
        return tick.frames.getSlice(at: seenBytes, length: length) ?? ByteBuffer()
    }

    /// It has had, or is not to have, what there is of it so far.
    func skip(to tick: RoomTick) {
        seenSerial = tick.serial
        seenBytes = tick.frames.writerIndex
    }
}
