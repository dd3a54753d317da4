import ConversationsAPI
import NIOCore

/// A socket of somebody signed in, as delivery sees it.
///
/// Called from any thread; nothing here waits.
protocol DeliverySocket: AnyObject, Sendable {
    /// Sends an event to this socket alone, after what was sent to it before.
    func emit(_ event: DeliveryEvent)

    /// From now on hears what is emitted to the conversation.
    func join(_ conversation: Conversation.ID)

    /// From now on hears no more of it.
    func leave(_ conversation: Conversation.ID)

    /// Its session is over: nothing reaches it or comes from it any more.
    func end()
}

/// All sockets of this instance, by the conversations that they have joined.
protocol DeliveryRooms: Sendable {
    /// Sends the same bytes to every socket that has joined but those named.
    ///
    /// Calls of one conversation, and `join` and `leave` between them, take effect in the order they are made.
    func emit(_ event: DeliveryEvent, to conversation: Conversation.ID, except excluded: [any DeliverySocket])
}

/// What a client is told, encoded once for all who hear it.
struct DeliveryEvent: Sendable {
    /// As clients know it.
    enum Name: String, Sendable, CaseIterable {
        case message
        case messageUpdated = "message/updated"
        case messageRead = "message/read"
        case typing
        case presence
        /// The chat, to a user who is a member from now on.
        case joined = "chats/joined"
        /// What was missed, to a socket that comes back with what it knew: as the answer to `messages/sync`.
        case sync = "messages/sync"
    }

    let name: Name
    /// The event's one argument.
    let json: ByteBuffer
}
