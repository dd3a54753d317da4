import ConversationsAPI
import NIOCore

/// A signed-in socket, as delivery uses it.
///
/// Called from any thread; no method blocks.
protocol DeliverySocket: AnyObject, Sendable {
    /// Sends an event to this socket alone, after all earlier events.
    func emit(_ event: DeliveryEvent)

    /// Starts to receive the events of a conversation.
    func join(_ conversation: Conversation.ID)

    /// Stops receiving the events of a conversation.
    func leave(_ conversation: Conversation.ID)

    /// Closes the socket when its session has ended; it then neither sends nor receives.
    func end()
}

/// All sockets of this instance, by the conversations that they have joined.
protocol DeliveryRooms: Sendable {
    /// Sends the same bytes to every socket that has joined, except `excluded`.
    ///
    /// Calls about one conversation, including `join` and `leave`, take effect in the order in which they are made.
    func emit(_ event: DeliveryEvent, to conversation: Conversation.ID, except excluded: [any DeliverySocket])
}

/// An event for clients, encoded once for all recipients.
struct DeliveryEvent: Sendable {
    /// The name on the wire.
    enum Name: String, Sendable, CaseIterable {
        case message
        case messageUpdated = "message/updated"
        case messageRead = "message/read"
        case typing
        case presence
        /// The chat, for a user who has become a member.
        case joined = "chats/joined"
        /// Missed changes for a reconnected socket, encoded like the response to `messages/sync`.
        case sync = "messages/sync"
    }

    let name: Name
    /// The event's only argument.
    let json: ByteBuffer
}
