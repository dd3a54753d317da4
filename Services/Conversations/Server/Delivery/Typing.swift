import ConversationsAPI
import NIOCore
import Wire

/// The event that a user is typing in a conversation.
struct Typing: Hashable, Sendable {
    let user: User.ID
    let conversation: Conversation.ID

    var event: DeliveryEvent {
        var writer = JSONWriter(capacity: 128)
        writer.raw("{\"chatId\":")
        writer.number(conversation.rawValue)
        writer.raw(",\"userId\":")
        writer.string(user.user)
        writer.raw("}")
        return DeliveryEvent(name: .typing, json: writer.buffer)
    }
}
