import ConversationsAPI
import Logging
import NIOCore
import Wire

/// The encoder of events, each of which is encoded once for all recipients.
struct RoomEventEncoder: Sendable {
    let links: FileLinks
    let logger: Logger

    func encode(_ roomEvent: RoomEvent, in room: Room) -> EncodedRoomEvent {
        switch roomEvent.content {
        case .message(let entry):
            let message = entry.message
            return EncodedRoomEvent(
                change: roomEvent.change,
                event: event(.message, message),
                seq: message.seq,
                draft: entry.clientMessageID.flatMap { id in
                    message.senderUser.map { sender in
                        Room.Draft(
                            sender: User.ID(application: room.application, user: sender.serial),
                            clientMessageID: id
                        )
                    }
                },
                membership: SystemEvent.Membership(message)
            )
        case .updated(let message):
            return EncodedRoomEvent(change: roomEvent.change, event: event(.messageUpdated, message))
        case .read(let mark):
            return EncodedRoomEvent(change: roomEvent.change, event: Self.read(mark, in: room.conversation))
        }
    }

    /// Encodes a message that was written here.
    func encode(_ written: Room.Written) -> EncodedRoomEvent {
        let meta = written.message.meta.map(JSONValue.init(compact:))
        let message = Message(written.message, meta: meta, written.outcome)
        return EncodedRoomEvent(
            change: message.change,
            event: event(.message, message),
            seq: message.seq,
            draft: Room.Draft(written.message)
        )
    }

    /// Returns nil for a message that cannot be encoded, which never holds for a stored one.
    private func event(_ name: DeliveryEvent.Name, _ message: Message) -> DeliveryEvent? {
        do {
            return DeliveryEvent(name: name, json: try MessageResponse(links.signed(message)).body())
        } catch {
            logger.error("cannot encode message", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private static func read(_ mark: Changes.ChangedReadMark, in conversation: Conversation.ID) -> DeliveryEvent {
        var writer = JSONWriter(capacity: 128)
        writer.raw("{\"chatId\":")
        writer.number(conversation.rawValue)
        writer.raw(",\"userId\":")
        writer.string(mark.userId)
        writer.raw(",\"seq\":")
        writer.number(mark.seq)
        writer.raw(",\"change\":")
        writer.number(mark.change)
        writer.raw("}")
        return DeliveryEvent(name: .messageRead, json: writer.buffer)
    }
}
