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
    struct Heard: Sendable {
        let name: DeliveryEvent.Name
        let json: JSONValue
    }

    private struct State {
        var heard: [Heard] = []
        var isEnded = false
    }

    private let rooms: RecordingRooms
    private let state = Mutex(State())

    init(_ rooms: RecordingRooms) {
        self.rooms = rooms
    }

    func emit(_ event: DeliveryEvent) {
        let json = (try? WireJSON.decode(JSONValue.self, from: Array(event.json.readableBytesView))) ?? .null
        state.withLock { $0.heard.append(Heard(name: event.name, json: json)) }
    }

    func join(_ conversation: Conversation.ID) { rooms.join(self, conversation) }
    func leave(_ conversation: Conversation.ID) { rooms.leave(self, conversation) }
    func end() { state.withLock { $0.isEnded = true } }

    var isEnded: Bool { state.withLock { $0.isEnded } }
    var heard: [Heard] { state.withLock { $0.heard } }

    func heard(_ name: DeliveryEvent.Name) -> [JSONValue] { heard.filter { $0.name == name }.map(\.json) }

    /// Of new messages, in the order they came.
    var seqs: [Int] { heard(.message).compactMap { $0["seq"].int } }

    /// Of all that has a change's number.
    var changes: [Int] { heard.compactMap { $0.json["change"].int } }

    /// What a client makes of it that remembers messages by their ids: those of `sync` first in their places.
    func texts() -> [String] { heard(.message).compactMap { $0["data"].string } }
}
