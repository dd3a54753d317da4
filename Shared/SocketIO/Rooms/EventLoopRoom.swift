/// The members of a room whose connections run on one event loop.
final class EventLoopRoom {
    /// Nil for the room of all sockets in a namespace.
    let name: SocketRoom?
    /// The members connected by WebSocket, which share one buffer.
    var streaming = MemberList()
    /// The members that poll, each with its own packets.
    var polling = MemberList()

    init(name: SocketRoom?) {
        self.name = name
    }

    var isEmpty: Bool { streaming.isEmpty && polling.isEmpty }

    func contains(_ socket: Socket) -> Bool {
        streaming.contains(socket) || polling.contains(socket)
    }

    func insert(_ socket: Socket) {
        if socket.connection.isStreaming {
            streaming.insert(socket)
        } else {
            polling.insert(socket)
        }
    }

    func remove(_ socket: Socket) {
        if !streaming.remove(socket) { _ = polling.remove(socket) }
    }

    /// Moves a socket after its connection was upgraded to a WebSocket.
    func moveToStreaming(_ socket: Socket) {
        if polling.remove(socket) { streaming.insert(socket) }
    }
}

/// The rooms of a namespace on one event loop.
final class EventLoopNamespace {
    let allSockets = EventLoopRoom(name: nil)
    private(set) var rooms: [SocketRoom: EventLoopRoom] = [:]

    func room(_ name: SocketRoom) -> EventLoopRoom {
        if let existing = rooms[name] { return existing }
        let created = EventLoopRoom(name: name)
        rooms[name] = created
        return created
    }

    func dropIfEmpty(_ room: EventLoopRoom) {
        if let name = room.name, room.isEmpty { rooms[name] = nil }
    }
}
