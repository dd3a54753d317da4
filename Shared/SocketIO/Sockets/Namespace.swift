import Locks

/// A named part of a server; a client's namespaces share one connection.
///
/// Callbacks run on the socket's event loop and must not block; use ``Socket/perform(_:)`` for longer work. A socket
/// uses the callbacks that were set when it connected.
public final class Namespace: Sendable {
    /// The name, beginning with a slash.
    public let name: String
    let core: EngineCore
    let index: Int
    private let current = Lock(NamespaceHandlers())

    init(name: String, core: EngineCore, index: Int) {
        self.name = name
        self.core = core
        self.index = index
    }

    var handlers: NamespaceHandlers { current.withLock { $0 } }

    private func change(_ body: (inout NamespaceHandlers) -> Void) {
        current.withLock { body(&$0) }
    }

    /// Sets the callback that decides whether a socket may connect; without one, all may.
    ///
    /// The socket neither sends nor receives events until the decision.
    public func onConnect(_ body: @escaping @Sendable (Socket, SocketHandshake) -> ConnectDecision) {
        change { $0.connect = body }
    }

    /// Sets the callback for a socket that was connected; it runs after the response to the client was queued.
    public func onConnected(_ body: @escaping @Sendable (Socket) -> Void) {
        change { $0.connected = body }
    }

    /// Sets the callback for an event of this name.
    public func on(_ event: String, _ body: @escaping @Sendable (Socket, SocketEvent) -> Void) {
        change { $0.events[event] = body }
    }

    /// Sets the callback for events without an ``on(_:_:)`` callback; without one, they are ignored.
    public func onAnyOther(_ body: @escaping @Sendable (Socket, SocketEvent) -> Void) {
        change { $0.anyOther = body }
    }

    /// Sets the callback for the end of a connected socket.
    ///
    /// It runs once, after the socket has left its rooms.
    public func onDisconnect(_ body: @escaping @Sendable (Socket, DisconnectReason) -> Void) {
        change { $0.disconnect = body }
    }

    /// Selects the members of any of the rooms, each once.
    public func to(_ rooms: SocketRoom...) -> SocketBroadcast {
        SocketBroadcast(namespace: self, rooms: rooms)
    }

    /// Selects the members of any of the rooms, each once; an empty array selects no socket.
    public func to(rooms: [SocketRoom]) -> SocketBroadcast {
        SocketBroadcast(namespace: self, rooms: rooms)
    }

    /// Selects all sockets except the given ones.
    public func except(_ sockets: Socket...) -> SocketBroadcast {
        SocketBroadcast(namespace: self, rooms: nil).except(sockets: sockets)
    }

    /// Emits an event to all sockets of the namespace.
    public func emit(_ event: String, _ arguments: SocketArguments = .none) {
        SocketBroadcast(namespace: self, rooms: nil).emit(event, arguments)
    }
}

/// The application's callbacks.
struct NamespaceHandlers: Sendable {
    var connect: (@Sendable (Socket, SocketHandshake) -> ConnectDecision)?
    var connected: (@Sendable (Socket) -> Void)?
    var events: [String: @Sendable (Socket, SocketEvent) -> Void] = [:]
    var anyOther: (@Sendable (Socket, SocketEvent) -> Void)?
    var disconnect: (@Sendable (Socket, DisconnectReason) -> Void)?
}
