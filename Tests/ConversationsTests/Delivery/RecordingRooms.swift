import ConversationsAPI
import Foundation
import NIOCore
import Synchronization
import TestSupport
import Wire

@testable import ConversationsServer

/// The rooms of an instance, whose sockets record the events they receive.
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

/// A socket that records its events in order.
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

    /// The sequences of new messages in order of arrival.
    var seqs: [Int] { received(.message).compactMap { $0["seq"].int } }

    /// The change numbers of all events that have one.
    var changes: [Int] { received.compactMap { $0.json["change"].int } }

    /// The texts of new messages in order of arrival.
    func texts() -> [String] { received(.message).compactMap { $0["data"].string } }
}
