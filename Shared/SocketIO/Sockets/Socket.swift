import Locks
public import NIOCore
import Synchronization

/// A client's connection to a namespace.
///
/// The methods may be called from any thread. Events emitted on one thread arrive in their order. Events to a socket
/// that is not connected are dropped without an error.
public final class Socket: @unchecked Sendable {
    /// The state used from several threads.
    private struct Shared {
        var data: [ObjectIdentifier: any Sendable] = [:]
        var calls: CallQueue?
    }

    /// A random id that other clients may know, unlike the id of the connection.
    public let id: String
    /// The namespace that the client connected to.
    public let namespace: Namespace
    /// The connection, which a client's namespaces share.
    public let connection: EngineConnection

    let handlers: NamespaceHandlers
    private let shared = Lock(Shared())
    private let state = Atomic<UInt8>(0)

    // Used only on the connection's event loop.
    var rooms: [EventLoopRoom] = []
    /// Whether a callback has disconnected the socket; later events of the client are dropped.
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

    /// The event loop on which the socket's callbacks run.
    public var eventLoop: any EventLoop { connection.eventLoop }

    /// Whether the client is currently connected to the namespace.
    public var isConnected: Bool { state.load(ordering: .acquiring) == 1 }

    /// Whether the socket was disconnected or refused.
    var isEnded: Bool { state.load(ordering: .acquiring) == 2 }

    // MARK: Emitting

    /// Emits an event to the client.
    public func emit(_ event: String, _ arguments: SocketArguments = .none) {
        let packet = OutgoingPacket(event: event, arguments, namespace: namespace)
        onLoop { $0.send(packet) }
    }

    /// Emits an event and calls back with the client's acknowledgement, on the event loop.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - arguments: The event's arguments.
    ///   - timeout: How long to wait for the acknowledgement.
    ///   - body: Receives the acknowledgement's arguments or the error.
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

    /// Emits an event and waits for the client's acknowledgement.
    ///
    /// - Returns: The acknowledgement's arguments.
    /// - Throws: ``AcknowledgementError``.
    public func emit(
        _ event: String,
        _ arguments: SocketArguments = .none,
        timeout: Duration
    ) async throws -> SocketArguments {
        try await withCheckedThrowingContinuation { continuation in
            emit(event, arguments, timeout: timeout) { continuation.resume(with: $0) }
        }
    }

    /// Selects the members of any of the rooms, except this socket.
    public func to(_ rooms: SocketRoom...) -> SocketBroadcast {
        namespace.to(rooms: rooms).except(self)
    }

    // MARK: Rooms

    /// Joins a room; the socket receives events emitted to it from now on.
    public func join(_ room: SocketRoom) {
        onLoop { if $0.isConnected { $0.connection.loop.enter($0, room) } }
    }

    /// Leaves a room.
    public func leave(_ room: SocketRoom) {
        onLoop { $0.connection.loop.exit($0, room) }
    }

    // MARK: Disconnecting

    /// Disconnects the client from the namespace; clients do not reconnect by themselves.
    ///
    /// - Parameter close: Whether to close the connection with all its namespaces.
    public func disconnect(close: Bool = false) {
        if eventLoop.inEventLoop {
            isEnding = true
            // Called in the connect callback, this refuses the socket, which is then never connected.
            if !isConnected { state.store(2, ordering: .releasing) }
        }
        connection.loop.perform { self.disconnectNow(close: close) }
    }

    // MARK: Asynchronous work

    /// Runs asynchronous work after all earlier calls for this socket, without blocking the event loop.
    ///
    /// Calls run one at a time, so requests of a socket are answered in order. While ``SocketIOLimits/queuedCalls`` or
    /// more are queued, the server stops reading from the client. A task exists only while calls are queued. Queued
    /// calls run even after the socket is disconnected.
    public func perform(_ body: @escaping @Sendable () async -> Void) {
        Locks.assertNoneHeld("use a socket")
        let calls = shared.withLock { shared in
            if let calls = shared.calls { return calls }
            let created = CallQueue(connection: connection, limit: connection.core.configuration.limits.queuedCalls)
            shared.calls = created
            return created
        }
        calls.append(body)
    }

    // MARK: Application data

    /// The application's value for a key; nil if none was set.
    public subscript<Key: SocketDataKey>(_ key: Key.Type) -> Key.Value? {
        get { shared.withLock { $0.data[ObjectIdentifier(key)] as? Key.Value } }
        set {
            // The previous value is released outside the lock, because its deinit may run arbitrary code.
            _ = shared.withLock { shared in
                defer { shared.data[ObjectIdentifier(key)] = newValue }
                return shared.data[ObjectIdentifier(key)]
            }
        }
    }
}

extension Socket: Hashable {
    public static func == (lhs: Socket, rhs: Socket) -> Bool { lhs === rhs }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

// MARK: - On the connection's loop

extension Socket {
    /// Runs work that calls no callback: immediately on an idle event loop, else after the loop's pending commands.
    private func onLoop(_ body: @escaping @Sendable (Socket) -> Void) {
        Locks.assertNoneHeld("use a socket")
        if connection.eventLoop.inEventLoop, connection.loop.isUpToDate {
            body(self)
        } else {
            connection.loop.perform { body(self) }
        }
    }

    /// Runs an application callback.
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

    func received(acknowledgement arguments: SocketArguments, to id: UInt64) {
        awaited?.remove(id)?(.success(arguments))
    }

    private func await(
        _ timeout: Duration,
        _ body: @escaping @Sendable (Result<SocketArguments, AcknowledgementError>) -> Void
    ) -> UInt64? {
        let acknowledgements = awaited ?? PendingAcknowledgements(loop: connection.loop)
        awaited = acknowledgements
        guard acknowledgements.count < connection.core.configuration.limits.acknowledgements else { return nil }
        return acknowledgements.add(timeout, body)
    }

    // MARK: The open tick of a room

    /// Returns the frames of the tick that the socket has not received.
    func unseen(of tick: RoomTick) -> ByteBuffer {
        guard seenSerial == tick.serial else { return tick.frames }
        let length = tick.frames.writerIndex - seenBytes
        return tick.frames.getSlice(at: seenBytes, length: length) ?? ByteBuffer()
    }

    /// Marks the tick's frames so far as received, or as not meant for the socket.
    func skip(to tick: RoomTick) {
        seenSerial = tick.serial
        seenBytes = tick.frames.writerIndex
    }
}
