/// A selection of sockets that receive an event.
///
/// Each event loop encodes an event once and sends a room's events of one tick to each socket in one write. A socket
/// receives the events emitted on one thread in their order.
public struct SocketBroadcast: Sendable {
    let namespace: Namespace
    /// Nil selects all sockets of the namespace.
    let rooms: [SocketRoom]?
    private(set) var exceptSockets: [Socket] = []
    private(set) var exceptRooms: [SocketRoom] = []

    init(namespace: Namespace, rooms: [SocketRoom]?) {
        self.namespace = namespace
        self.rooms = rooms
    }

    /// Excludes sockets.
    public func except(_ sockets: Socket...) -> SocketBroadcast {
        except(sockets: sockets)
    }

    /// Excludes sockets.
    public func except(sockets: [Socket]) -> SocketBroadcast {
        var copy = self
        copy.exceptSockets += sockets
        return copy
    }

    /// Excludes the members of any of the rooms.
    public func except(rooms: SocketRoom...) -> SocketBroadcast {
        var copy = self
        copy.exceptRooms += rooms
        return copy
    }

    /// Emits an event to the selected sockets; may be called from any thread.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - arguments: The event's arguments.
    public func emit(_ event: String, _ arguments: SocketArguments = .none) {
        namespace.core.broadcast(self, event, arguments)
    }

    /// Adds the selected sockets to a room.
    public func join(_ room: SocketRoom) {
        namespace.core.forEach(self) { $0.connection.loop.enter($0, room) }
    }

    /// Removes the selected sockets from a room.
    public func leave(_ room: SocketRoom) {
        namespace.core.forEach(self) { $0.connection.loop.exit($0, room) }
    }

    /// Disconnects the selected sockets; see ``Socket/disconnect(close:)``.
    public func disconnect(close: Bool = false) {
        namespace.core.forEach(self) { $0.disconnectNow(close: close) }
    }
}
