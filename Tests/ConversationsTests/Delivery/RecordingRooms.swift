import ConversationsAPI
import Foundation
import NIOCore
import Synchronization
import TestSupport
import Wire

@testable import ConversationsServer

/// The sockets of an instance as a test sees them: each remembers what it was sent, in order.
final class RecordingRooms: DeliveryRooms {
    private let members = Mutex<[Conversation.ID: [RecordingSocket]]>([:])

    func emit(_ event: DeliveryEvent, to conversation: Conversation.ID, except excluded: [any DeliverySocket]) {
        members.withLock { members in
            for socket in members[conversation] ?? [] where !excluded.contains(where: { $0 === socket }) {
                socket.emit(event)
            }
        }
    }

    fileprivate func join(_ socket: RecordingSocket, _ conversation: Conversation.ID) {
        members.withLock { $0[conversation, default: []].append(socket) }
    }

    fileprivate func leave(_ socket: RecordingSocket, _ conversation: Conversation.ID) {
        members.withLock { $0[conversation]?.removeAll { $0 === socket } }
    }
}

/// A client's socket.
final class RecordingSocket: DeliverySocket {
    struct ReceivedEvent: Sendable {
        let name: DeliveryEvent.Name
        let json: JSONValue
    }

    private struct State {
        var received: [ReceivedEvent] = []
        var isEnded = false
    }

    private let rooms: RecordingRooms
    private let state = Mutex(State())

    init(_ rooms: RecordingRooms) {
        self.rooms = rooms
    }

    func emit(_ event: DeliveryEvent) {
        let json = (try? WireJSON.decode(JSONValue.self, from: Array(event.json.readableBytesView))) ?? .null
        state.withLock { $0.received.append(ReceivedEvent(name: event.name, json: json)) }
    }

    func join(_ conversation: Conversation.ID) { rooms.join(self, conversation) }
    func leave(_ conversation: Conversation.ID) { rooms.leave(self, conversation) }
    func end() { state.withLock { $0.isEnded = true } }

    var isEnded: Bool { state.withLock { $0.isEnded } }
    var received: [ReceivedEvent] { state.withLock { $0.received } }

    func received(_ name: DeliveryEvent.Name) -> [JSONValue] { received.filter { $0.name == name }.map(\.json) }

    /// Of new messages, in the order they came.
    var seqs: [Int] { received(.message).compactMap { $0["seq"].int } }

    /// Of all that has a change's number.
    var changes: [Int] { received.compactMap { $0.json["change"].int } }

    /// What a client makes of it that remembers messages by their ids: those of `sync` first in their places.
    func texts() -> [String] { received(.message).compactMap { $0["data"].string } }
}
