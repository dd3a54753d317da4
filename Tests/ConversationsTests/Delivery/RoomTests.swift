import ConversationsAPI
import Foundation
import NIOCore
import Synchronization
import Testing
import Wire

@testable import ConversationsServer

/// Rooms whose sockets call them back.
@Suite("Rooms") struct RoomTests {
    /// A socket that runs a closure the first time that it joins or leaves a room.
    final class CallingSocket: DeliverySocket {
        let seen = Mutex<[Int64]>([])
        private let whenCalled = Mutex<(@Sendable () -> Void)?>(nil)

        func call(_ body: @escaping @Sendable () -> Void) { whenCalled.withLock { $0 = body } }

        func emit(_ event: DeliveryEvent) {
            seen.withLock { $0.append(event.json.getInteger(at: event.json.readerIndex) ?? 0) }
        }

        func join(_ conversation: Conversation.ID) { called() }
        func leave(_ conversation: Conversation.ID) { called() }
        func end() {}

        private func called() {
            let body = whenCalled.withLock { body in
                defer { body = nil }
                return body
            }
            body?()
        }
    }

    /// Rooms that send to their members immediately.
    final class DirectRooms: DeliveryRooms {
        let members = Mutex<[CallingSocket]>([])

        func emit(_ event: DeliveryEvent, to conversation: Conversation.ID, except: [any DeliverySocket]) {
            for socket in members.withLock({ $0 }) { socket.emit(event) }
        }
    }

    private let connections = Connections()

    private func room(_ number: Int64 = 1) -> Room {
        connections.open(Conversation.ID(number)) {
            Room(Conversation.ID(number), of: "other", change: 0, seq: 0)
        }.room
    }

    private func connection(_ name: String, _ socket: CallingSocket = CallingSocket()) -> (Connection, CallingSocket) {
        let user = User.ID(application: "other", user: name)
        let connection = Connection(user: user, device: name, session: name, socket: socket, among: connections)
        connections.add(connection)
        return (connection, socket)
    }

    @Test("A socket that leaves may remove another one from the same room")
    func reentry() {
        let room = room()
        let (ana, socket) = connection("ana")
        let (bo, _) = connection("bo")
        #expect(room.join([ana, bo], after: 0, connections) == .joined)
        socket.call { [connections] in room.leave(bo, connections) }
        room.leave(ana, connections)
        #expect(room.connections.isEmpty)
        #expect(connections.room(room.conversation) == nil)
    }

    @Test("A room that closed after a failed read is not read again")
    func closed() {
        let room = room()
        let (ana, _) = connection("ana")
        #expect(room.join([ana], after: 0, connections) == .joined)
        #expect(room.notify(1))
        #expect(room.dequeueWritten().mustRead)
        room.leave(ana, connections)
        room.fail()
        #expect(!room.dequeueWritten().mustRead)
        #expect(!room.release(hasMore: false))
    }

    @Test("Two threads may leave two rooms, and each from its callback the other room")
    func twoRooms() async {
        let rooms = [room(1), room(2)]
        let users = [connection("ana"), connection("bo")]
        for room in rooms { #expect(room.join(users.map(\.0), after: 0, connections) == .joined) }
        // Each thread waits in its socket's callback for the other one: with a lock held, both would time out.
        let inside = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
        let reached = Mutex([false, false])
        for index in 0...1 {
            users[index].1.call { [connections] in
                inside[index].signal()
                let isInside = inside[1 - index].wait(timeout: .now() + 20) == .success
                reached.withLock { $0[index] = isInside }
                rooms[1 - index].leave(users[index].0, connections)
            }
        }
        await withCheckedContinuation { continuation in
            let left = DispatchGroup()
            for index in 0...1 {
                left.enter()
                Thread.detachNewThread { [connections] in
                    rooms[index].leave(users[index].0, connections)
                    left.leave()
                }
            }
            left.notify(queue: .global()) { continuation.resume() }
        }
        #expect(reached.withLock { $0 } == [true, true])
        for (index, room) in rooms.enumerated() { #expect(!room.connections.contains(users[index].0)) }
    }

    @Test("A socket that joins between two events receives exactly the later ones, whichever thread delivers")
    func order() async {
        let room = room()
        let rooms = DirectRooms()
        let last = Int64(3_000)
        let (listener, first) = connection("listener")
        rooms.members.withLock { $0 = [first] }
        #expect(room.join([listener], after: 0, connections) == .joined)
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { [connections] in
                for change in 1...last {
                    let event = DeliveryEvent(name: .message, json: ByteBuffer(integer: change))
                    room.deliver([EncodedRoomEvent(change: change, event: event)], upTo: change, to: rooms, connections)
                }
            }
            for name in ["ana", "bo", "eve"] {
                let (connection, socket) = connection(name)
                socket.call { rooms.members.withLock { $0.append(socket) } }
                tasks.addTask { [connections] in
                    var known = room.change
                    while room.join([connection], after: known, connections) == .isAhead { known = room.change }
                    socket.seen.withLock { $0.insert(-known, at: 0) }
                }
            }
        }
        for socket in rooms.members.withLock({ $0 }) {
            var seen = socket.seen.withLock { $0 }
            // The change at which the socket joined comes first, as a negative number.
            let known = socket === first ? 0 : -seen.removeFirst()
            #expect(seen == Array((known + 1)..<(last + 1)))
        }
    }
}
