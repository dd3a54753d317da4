import Locks

/// A part of a server that clients connect to by name, over a connection they share with other namespaces.
///
/// Callbacks run on the event loop of the socket they are about, so they must not block; ``Socket/perform(_:)`` is for
/// what takes longer. A socket knows the callbacks that were set when it connected.
public final class Namespace: Sendable {
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

    /// Decides who may connect; without it all may.
    ///
    /// Until it is decided the socket reaches nobody and is not reached.
    public func onConnect(_ body: @escaping @Sendable (Socket, SocketHandshake) -> ConnectDecision) {
        change { $0.connect = body }
    }

    /// Called when a socket is connected, right behind the answer that tells the client.
    public func onConnected(_ body: @escaping @Sendable (Socket) -> Void) {
        change { $0.connected = body }
    }

    /// Called when a client says that event.
    public func on(_ event: String, _ body: @escaping @Sendable (Socket, SocketEvent) -> Void) {
        change { $0.events[event] = body }
    }

    /// Called for events that ``on(_:_:)`` was not told of; without it they are ignored.
    public func onAnyOther(_ body: @escaping @Sendable (Socket, SocketEvent) -> Void) {
        change { $0.anyOther = body }
    }

    /// Called once for each socket that was connected, after it has left its rooms.
    public func onDisconnect(_ body: @escaping @Sendable (Socket, DisconnectReason) -> Void) {
        change { $0.disconnect = body }
    }

    /// Those in any of the rooms, each once.
    public func to(_ rooms: SocketRoom...) -> SocketBroadcast {
        SocketBroadcast(namespace: self, rooms: rooms)
    }

    /// Those in any of the rooms, each once; nobody, if there are none.
    public func to(rooms: [SocketRoom]) -> SocketBroadcast {
        SocketBroadcast(namespace: self, rooms: rooms)
    }

    /// All but these.
    public func except(_ sockets: Socket...) -> SocketBroadcast {
        SocketBroadcast(namespace: self, rooms: nil).except(sockets: sockets)
    }

    /// Says an event to all who are connected to the namespace.
    public func emit(_ event: String, _ arguments: SocketArguments = .none) {
        SocketBroadcast(namespace: self, rooms: nil).emit(event, arguments)
    }
}

/// What an application has asked to be called for.
struct NamespaceHandlers: Sendable {
    var connect: (@Sendable (Socket, SocketHandshake) -> ConnectDecision)?
    var connected: (@Sendable (Socket) -> Void)?
    var events: [String: @Sendable (Socket, SocketEvent) -> Void] = [:]
    var anyOther: (@Sendable (Socket, SocketEvent) -> Void)?
    var disconnect: (@Sendable (Socket, DisconnectReason) -> Void)?
}
