/// The members of a room whose connections live on one event loop.
final class EventLoopRoom {
    /// Nil for the room of all that are in a namespace.
    let name: SocketRoom?
    /// Those over WebSockets, who share one buffer.
    var streaming = MemberList()
    /// Those who poll, each with packets of its own.
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

    /// Its connection has become a WebSocket.
    func moveToStreaming(_ socket: Socket) {
        if polling.remove(socket) { streaming.insert(socket) }
    }
}

/// What of a namespace is on one event loop.
final class EventLoopNamespace {
    let allSockets = EventLoopRoom(name: nil)
    private(set) var rooms: [SocketRoom: EventLoopRoom] = [:]

    func room(_ name: SocketRoom) -> EventLoopRoom {
        if let known = rooms[name] { return known }
        let made = EventLoopRoom(name: name)
        rooms[name] = made
        return made
    }

    func dropIfEmpty(_ room: EventLoopRoom) {
        if let name = room.name, room.isEmpty { rooms[name] = nil }
    }
}
