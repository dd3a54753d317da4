import NIOCore

/// What is said to one room in one tick: the frames, one behind the other.
struct RoomTick {
    let room: EventLoopRoom
    /// Tells this one from others, on the sockets that have had a part of it.
    let serial: UInt64
    private(set) var frames = ByteBuffer()

    init(room: EventLoopRoom, serial: UInt64) {
        self.room = room
        self.serial = serial
    }

    /// Tells how many bytes there are now.
    mutating func append(_ packet: OutgoingPacket, excluding left: [Socket]) -> Int {
        packet.writeTextFrame(into: &frames)
        for socket in left { socket.skip(to: self) }
        return frames.readableBytes
    }
}

/// Rooms. An event is put into frames once; the frames of a tick go to each member as one buffer.
///
/// Order among all that is said to one socket is kept by there being one open ``RoomTick`` at a time: before something
/// else is put into a member's outbox, the member gets what it has not had of it yet.
extension EngineLoop {
    /// More than this and the tick ends, so that nobody is taken for slow who had no chance to read.
    private static let tickBytes = 65_536

    func broadcast(_ packet: OutgoingPacket, to target: SocketBroadcast) {
        let here = state(of: target.namespace)
        if target.exceptRooms.isEmpty, target.rooms.map({ $0.count <= 1 }) ?? true {
            let room: EventLoopRoom?
            if let rooms = target.rooms {
                room = rooms.first.flatMap { here.rooms[$0] }
            } else {
                room = here.allSockets
            }
            if let room { send(packet, to: room, except: target.exceptSockets) }
        } else {
            forEachSocket(of: target) { $0.connection.sendNow(packet) }
        }
    }

    /// Each socket chosen that is on this loop, once.
    func forEachSocket(of target: SocketBroadcast, _ body: (Socket) -> Void) {
        let here = state(of: target.namespace)
        let rooms = target.rooms.map { $0.compactMap { here.rooms[$0] } } ?? [here.allSockets]
        let excludedRooms = target.exceptRooms.compactMap { here.rooms[$0] }
        var done: Set<ObjectIdentifier> = []
        // The body may let them leave.
        let members = rooms.flatMap { Array($0.streaming.members) + Array($0.polling.members) }
        for socket in members where done.insert(ObjectIdentifier(socket)).inserted {
            let isExcluded =
                target.exceptSockets.contains { $0 === socket } || excludedRooms.contains { $0.contains(socket) }
            if !isExcluded { body(socket) }
        }
    }

    private func send(_ packet: OutgoingPacket, to room: EventLoopRoom, except: [Socket]) {
        for socket in room.polling.members where !except.contains(where: { $0 === socket }) {
            socket.connection.sendNow(packet)
        }
        guard !room.streaming.isEmpty else { return }
        guard packet.attachments.isEmpty else {
            for socket in room.streaming.members where !except.contains(where: { $0 === socket }) {
                socket.connection.sendNow(packet)
            }
            return
        }
        openTick(for: room)
        let left = except.filter { room.streaming.contains($0) }
        for socket in left { catchUp(socket) }
        if let bytes = tick?.append(packet, excluding: left), bytes > Self.tickBytes { return endTick() }
        scheduleTick()
    }

    private func openTick(for room: EventLoopRoom) {
        if let open = tick, open.room === room { return }
        flushRooms()
        serial += 1
        tick = RoomTick(room: room, serial: serial)
    }

    /// Puts the open tick's frames into the outboxes of the room's members, and closes it.
    func flushRooms() {
        guard let done = tick else { return }
        tick = nil
        for socket in done.room.streaming.members {
            socket.connection.append(socket.unseen(of: done))
        }
    }

    /// Gives a socket what it has not had yet of the open tick, before it gets something else or is left out.
    func catchUp(_ socket: Socket) {
        guard let open = tick, open.room.streaming.contains(socket) else { return }
        socket.connection.append(socket.unseen(of: open))
        socket.skip(to: open)
    }

    func enter(_ socket: Socket, _ name: SocketRoom) {
        let room = state(of: socket.namespace).room(name)
        guard !room.contains(socket) else { return }
        add(socket, to: room)
        socket.rooms.append(room)
    }

    func add(_ socket: Socket, to room: EventLoopRoom) {
        room.insert(socket)
        // What was said in this tick before it came is not for it.
        if let open = tick, open.room === room { socket.skip(to: open) }
    }

    func exit(_ socket: Socket, _ name: SocketRoom) {
        guard let place = socket.rooms.firstIndex(where: { $0.name == name }) else { return }
        catchUp(socket)
        let room = socket.rooms.remove(at: place)
        room.remove(socket)
        state(of: socket.namespace).dropIfEmpty(room)
    }

    func exitAll(_ socket: Socket) {
        catchUp(socket)
        let here = state(of: socket.namespace)
        here.allSockets.remove(socket)
        for room in socket.rooms {
            room.remove(socket)
            here.dropIfEmpty(room)
        }
        socket.rooms = []
    }

    func moveToStreaming(_ socket: Socket) {
        for room in socket.rooms + [state(of: socket.namespace).allSockets] {
            room.moveToStreaming(socket)
            if let open = tick, open.room === room { socket.skip(to: open) }
        }
    }
}
