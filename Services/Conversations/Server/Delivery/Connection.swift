import ConversationsAPI
import Locks
import Wire

/// A signed-in socket of this instance, with its user, device and session.
///
/// `Delivery.attach` creates it. A message names the connection that sent it, so that the event about it is not sent
/// back.
final class Connection: Sendable {
    let user: User.ID
    let device: String
    let session: String
    let socket: any DeliverySocket
    private let connections: Connections
    /// Drafts for conversations whose room the connection has not entered yet, such as a new conversation: the
    /// connection may enter before the message is delivered.
    private let early = Lock<[(conversation: Conversation.ID, draft: Room.Draft)]>([])
    private static let earlyCapacity = 512
    /// The user's joins while the connection is being attached; nil once it is attached.
    private let deferredJoins = Lock<[MemberJoin]?>([])
    private let completeness = Lock<Bool?>(nil)

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

// The origins of messages.
extension Connection {
    /// Records a draft whose message is not delivered to this connection, because it receives the response.
    func willSend(_ message: MessageWrite) {
        let (conversation, draft) = (message.conversation.id, Room.Draft(message))
        // Recorded here first: a connection that enters the room between the two steps takes the draft from here.
        early.withLock { early in
            early.append((conversation, draft))
            if early.count > Self.earlyCapacity { early.removeFirst() }
        }
        if connections.room(conversation)?.setOrigin(draft, from: self) == true { clearOrigin(draft) }
    }

    /// Records that the draft had been written before, perhaps a moment ago, so that the others may not have the
    /// message yet.
    func wasDuplicate(_ message: MessageWrite, as seq: Int64) {
        connections.room(message.conversation.id)?.clearOrigin(Room.Draft(message), writtenAs: seq)
    }

    /// Removes a draft that was not written.
    func didNotSend(_ message: MessageWrite) {
        let draft = Room.Draft(message)
        clearOrigin(draft)
        connections.room(message.conversation.id)?.clearOrigin(draft)
    }

    private func clearOrigin(_ draft: Room.Draft) {
        early.withLock { $0.removeAll { $0.draft == draft } }
    }

    /// Removes and returns the drafts that were sent before the connection entered the conversation's room.
    func takeEarlyDrafts(_ conversation: Conversation.ID) -> [Room.Draft] {
        early.withLock { early in
            defer { early.removeAll { $0.conversation == conversation } }
            return early.filter { $0.conversation == conversation }.map(\.draft)
        }
    }
}

// The joins of the connection's user.
extension Connection {
    /// Returns true while the connection is being attached: it handles the join later, unless attaching has found it.
    func deferJoin(_ memberJoin: MemberJoin) -> Bool { deferredJoins.withLock { $0?.append(memberJoin) != nil } }

    var isAttaching: Bool { deferredJoins.withLock { $0 != nil } }

    /// Whether the client received every conversation that it did not have; nil when the client did not state what it
    /// has.
    var isComplete: Bool? { completeness.withLock { $0 } }

    func note(isComplete: Bool) { completeness.withLock { $0 = isComplete } }

    /// Removes and returns the deferred joins; nil when there are none, and then no later join is deferred.
    func takeDeferredJoins() -> [MemberJoin]? {
        deferredJoins.withLock { deferredJoins in
            let found = deferredJoins ?? []
            deferredJoins = found.isEmpty ? nil : []
            return deferredJoins.map { _ in found }
        }
    }
}

extension Connection: Hashable {
    static func == (left: Connection, right: Connection) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
