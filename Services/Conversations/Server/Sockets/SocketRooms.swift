import ConversationsAPI
import SocketIO
import Wire

/// The signed-in sockets of this instance, as delivery uses them; a conversation is a room with its number.
struct SocketRooms: DeliveryRooms {
    let namespace: Namespace

    func emit(_ event: DeliveryEvent, to conversation: Conversation.ID, except excluded: [any DeliverySocket]) {
        namespace.to(SocketRoom(conversation))
            .except(sockets: excluded.compactMap { $0 as? Socket })
            .emit(event.name.rawValue, SocketArguments(json: event.json))
    }
}

extension Socket: DeliverySocket {
    func emit(_ event: DeliveryEvent) {
        emit(event.name.rawValue, SocketArguments(json: event.json))
    }

    func join(_ conversation: Conversation.ID) {
        join(SocketRoom(conversation))
    }

    func leave(_ conversation: Conversation.ID) {
        leave(SocketRoom(conversation))
    }

    func end() {
        disconnect(close: true)
    }
}

extension SocketRoom {
    init(_ conversation: Conversation.ID) {
        self.init(UInt64(bitPattern: conversation.rawValue))
    }
}
