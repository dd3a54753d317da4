/// A choice of sockets to say something to.
///
/// What is said is put into frames once for each event loop, and those that one tick of a loop says to a room reach each
/// of its sockets as one write. Sockets see it in the order it was said on one thread.
public struct SocketBroadcast: Sendable {
    let namespace: Namespace
    /// Nil for all there are.
    let rooms: [SocketRoom]?
    private(set) var exceptSockets: [Socket] = []
    private(set) var exceptRooms: [SocketRoom] = []

    init(namespace: Namespace, rooms: [SocketRoom]?) {
        self.namespace = namespace
        self.rooms = rooms
    }

    /// Leaves these out.
    public func except(_ sockets: Socket...) -> SocketBroadcast {
        except(sockets: sockets)
    }

    /// Leaves these out.
    public func except(sockets: [Socket]) -> SocketBroadcast {
        var copy = self
        copy.exceptSockets += sockets
        return copy
    }

    /// Leaves out who is in any of these.
    public func except(rooms: SocketRoom...) -> SocketBroadcast {
        var copy = self
        copy.exceptRooms += rooms
        return copy
    }

    /// Says an event to those chosen; may be called from any thread.
    public func emit(_ event: String, _ arguments: SocketArguments = .none) {
        namespace.core.broadcast(self, event, arguments)
    }

    /// Lets those chosen join a room.
    public func join(_ room: SocketRoom) {
        namespace.core.forEach(self) { $0.connection.loop.enter($0, room) }
    }

    /// Lets those chosen leave a room.
    public func leave(_ room: SocketRoom) {
        namespace.core.forEach(self) { $0.connection.loop.exit($0, room) }
    }

    /// Disconnects those chosen, as ``Socket/disconnect(close:)`` does.
    public func disconnect(close: Bool = false) {
        namespace.core.forEach(self) { $0.disconnectNow(close: close) }
    }
}
