import ConversationsAPI
import Locks
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
    /// What was sent to conversations whose room it was not in yet, as those that it has just made: it may come in before
    /// that is told.
    private let early = Lock<[(conversation: Conversation.ID, draft: Room.Draft)]>([])
    private static let earlyCapacity = 512
    /// What its user came into while it was being attached; nil: it is.
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

// Whose message is whose.
extension Connection {
    /// Its message is not told to it: it has the answer.
    func willSend(_ message: MessageWrite) {
        let (conversation, draft) = (message.conversation.id, Room.Draft(message))
        // First here: who comes into the room between the two is expected there.
        early.withLock { early in
            early.append((conversation, draft))
            if early.count > Self.earlyCapacity { early.removeFirst() }
        }
        if connections.room(conversation)?.setOrigin(draft, from: self) == true { clearOrigin(draft) }
    }

    /// It had come before, as the message `seq`: perhaps a moment ago, and then that is still to be told to the others.
    func wasDuplicate(_ message: MessageWrite, as seq: Int64) {
        connections.room(message.conversation.id)?.clearOrigin(Room.Draft(message), writtenAs: seq)
    }

    /// Nothing comes of it.
    func didNotSend(_ message: MessageWrite) {
        let draft = Room.Draft(message)
        clearOrigin(draft)
        connections.room(message.conversation.id)?.clearOrigin(draft)
    }

    private func clearOrigin(_ draft: Room.Draft) {
        early.withLock { $0.removeAll { $0.draft == draft } }
    }

    /// What it sent to a conversation before it was in its room, once.
    func takeEarlyDrafts(_ conversation: Conversation.ID) -> [Room.Draft] {
        early.withLock { early in
            defer { early.removeAll { $0.conversation == conversation } }
            return early.filter { $0.conversation == conversation }.map(\.draft)
        }
    }
}

// What its user comes into.
extension Connection {
    /// True: it is being attached, and is told of it once it is, where that did not find it.
    func deferJoin(_ memberJoin: MemberJoin) -> Bool { deferredJoins.withLock { $0?.append(memberJoin) != nil } }

    var isAttaching: Bool { deferredJoins.withLock { $0 != nil } }

    /// Whether the client received every conversation that it did not know; nil where it did not say what it knows.
    var isComplete: Bool? { completeness.withLock { $0 } }

    func note(isComplete: Bool) { completeness.withLock { $0 = isComplete } }

    /// What was put off; nil: nothing was, and from now on nothing is.
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
