import NIOCore

/// The frames for one room in one tick.
struct RoomTick {
    let room: EventLoopRoom
    /// Identifies the tick on sockets that already received a part of it.
    let serial: UInt64
    private(set) var frames = ByteBuffer()

    init(room: EventLoopRoom, serial: UInt64) {
        self.room = room
        self.serial = serial
    }

    /// Appends a packet's frame; returns the size of all frames in bytes.
    mutating func append(_ packet: OutgoingPacket, excluding excluded: [Socket]) -> Int {
        packet.writeTextFrame(into: &frames)
        for socket in excluded { socket.skip(to: self) }
        return frames.readableBytes
    }
}

/// Broadcasts to rooms. An event is encoded once; each member receives the frames of a tick as one buffer.
///
/// Only one ``RoomTick`` is open at a time, which preserves the order of a socket's packets: before any other packet is
/// queued for a member, the member receives the frames of the open tick that it lacks.
extension EngineLoop {
    /// The size in bytes at which a tick ends early, so that members are not disconnected as slow before they can read.
    private static let tickBytes = 65_536

    func broadcast(_ packet: OutgoingPacket, to target: SocketBroadcast) {
        let namespace = state(of: target.namespace)
        if target.exceptRooms.isEmpty, target.rooms.map({ $0.count <= 1 }) ?? true {
            let room: EventLoopRoom?
            if let rooms = target.rooms {
                room = rooms.first.flatMap { namespace.rooms[$0] }
            } else {
                room = namespace.allSockets
            }
            if let room { send(packet, to: room, except: target.exceptSockets) }
        } else {
            forEachSocket(of: target) { $0.connection.sendNow(packet) }
        }
    }

    /// Calls `body` once for each selected socket on this loop.
    func forEachSocket(of target: SocketBroadcast, _ body: (Socket) -> Void) {
        let namespace = state(of: target.namespace)
        let rooms = target.rooms.map { $0.compactMap { namespace.rooms[$0] } } ?? [namespace.allSockets]
        let excludedRooms = target.exceptRooms.compactMap { namespace.rooms[$0] }
        var done: Set<ObjectIdentifier> = []
        // Copied, because the body may remove sockets from rooms.
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
        let excluded = except.filter { room.streaming.contains($0) }
        for socket in excluded { catchUp(socket) }
        if let bytes = tick?.append(packet, excluding: excluded), bytes > Self.tickBytes { return endTick() }
        scheduleTick()
    }

    private func openTick(for room: EventLoopRoom) {
        if let open = tick, open.room === room { return }
        flushRooms()
        serial += 1
        tick = RoomTick(room: room, serial: serial)
    }

    /// Queues the open tick's frames for the room's members and closes the tick.
    func flushRooms() {
        guard let done = tick else { return }
        tick = nil
        for socket in done.room.streaming.members {
            socket.connection.append(socket.unseen(of: done))
        }
    }

    /// Queues the frames of the open tick that the socket lacks, before another packet or before the socket is
    /// excluded.
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
        // The socket does not receive the events that were sent before it joined.
        if let open = tick, open.room === room { socket.skip(to: open) }
    }

    func exit(_ socket: Socket, _ name: SocketRoom) {
        guard let index = socket.rooms.firstIndex(where: { $0.name == name }) else { return }
        catchUp(socket)
        let room = socket.rooms.remove(at: index)
        room.remove(socket)
        state(of: socket.namespace).dropIfEmpty(room)
    }

    func exitAll(_ socket: Socket) {
        catchUp(socket)
        let namespace = state(of: socket.namespace)
        namespace.allSockets.remove(socket)
        for room in socket.rooms {
            room.remove(socket)
            namespace.dropIfEmpty(room)
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
