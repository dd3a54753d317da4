import ConversationsAPI
import Wire

/// A socket that is signed in here: whose it is, and which device and session it came with.
///
/// Made by `Delivery.attach`; what is sent through it names it, so that its own messages do not come back to it.
final class Connection: Sendable {
    let user: User.ID
    let device: String
    let session: String
    let socket: any DeliverySocket
    private let connections: Connections

    init(
        user: User.ID,
        device: String,
        session: String,
        socket: any DeliverySocket,
        among connections: Connections
    ) {
        self.connections = connections
        self.user = user
        self.device = device
        self.session = session
        self.socket = socket
    }
}

// Whose message is whose.
extension Connection {
    /// Its message is not told to it: it has the answer.
    func sends(_ message: MessageWrite) {
        connections.room(message.conversation.id)?.expect(Room.Draft(message), from: self)
    }

    /// Nothing comes of it, or it had come before.
    func gaveUp(_ message: MessageWrite) {
        connections.room(message.conversation.id)?.forget(Room.Draft(message))
    }
}

extension Connection: Hashable {
    static func == (left: Connection, right: Connection) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
