import ConversationsAPI
import DequeModule
import Locks
import Wire

/// A conversation that somebody connected here is in: how far it has been told, and to whom.
///
/// One worker at a time reads and tells; whoever joins meanwhile does so between two events, at a change that is known.
final class Room: Sendable {
    /// Asks for a look whatever the change is.
    static let anyChange = Int64.max

    /// A message that was written here, so that it need not be read.
    struct Written: Sendable {
        let message: MessageWrite
        let outcome: WrittenMessage
    }

    /// What a draft is known by until it comes back as a message.
    struct Draft: Hashable, Sendable {
        let sender: User.ID
        let clientMessageID: String

        init(sender: User.ID, clientMessageID: String) {
            self.sender = sender
            self.clientMessageID = clientMessageID
        }

        init(_ message: MessageWrite) {
            self.init(sender: message.sender, clientMessageID: message.clientMessageID)
        }
    }

    struct State {
        /// Every change up to here was told.
        var change: Int64
        /// Every message up to here was told.
        var seq: Int64
        var connections: Set<Connection> = []
        /// The highest change heard of; `anyChange` when any may have been.
        var pendingChange: Int64 = 0
        /// It waits for a worker, or one is at it.
        var isQueued = false
        var isClosed = false
        var written: Deque<Written> = []
        var writtenBytes = 0
        /// What is to be done while nothing is told here.
        var exclusiveTasks: [@Sendable (_ isHeld: Bool) async -> Void] = []
        /// Through which socket a draft came, that its message is not told to.
        var origins: [Draft: Connection] = [:]
        /// What follows from the changes above, in their order, and is not done yet.
        var effects: [Effect] = []
        /// A thread is at the effects, and does those that are added meanwhile as well.
        var isApplyingEffects = false
    }

    /// What is done to sockets once the lock is released.
    enum Effect: Sendable {
        case join(Connection)
        case leave(Connection)
        /// To one connection, before it joins.
        case announce(DeliveryEvent, Connection)
        case emit(DeliveryEvent, to: any DeliveryRooms, except: Connection?)
    }

    enum JoinResult {
        case joined
        /// The room has told more than is known of who comes in: look again.
        case isAhead
        case isClosed
    }

    /// How much that was written here waits to be told; what is more is read again.
    private static let writtenCapacity = 256
    private static let writtenBytesCapacity = 524_288

    let conversation: Conversation.ID
    let application: String
    let state: Lock<State>

    /// A room that has told everything up to a change, the messages up to a `seq` among it.
    init(_ conversation: Conversation.ID, of application: String, change: Int64, seq: Int64) {
        self.conversation = conversation
        self.application = application
        state = Lock(State(change: change, seq: seq))
    }

    var change: Int64 { state.withLock { $0.change } }

    /// Nobody is about to read or tell.
    var isIdle: Bool { state.withLock { !$0.isQueued } }

    // MARK: News

    /// There may be something up to this change; true where the room must be given to a worker.
    func notify(_ change: Int64) -> Bool {
        state.withLock { state in
            guard change > state.change, !state.isClosed else { return false }
            state.pendingChange = max(state.pendingChange, change)
            defer { state.isQueued = true }
            return !state.isQueued
        }
    }

    /// A message was written here; true where the room must be given to a worker.
    func appendWritten(_ written: Written) -> Bool {
        state.withLock { state in
            guard written.outcome.change > state.change, !state.isClosed else { return false }
            state.pendingChange = max(state.pendingChange, written.outcome.change)
            let bytes = written.message.textBytes
            if state.written.count < Self.writtenCapacity,
                state.writtenBytes + bytes <= Self.writtenBytesCapacity
            {
                state.written.append(written)
                state.writtenBytes += bytes
            }
            defer { state.isQueued = true }
            return !state.isQueued
        }
    }

    /// Something is to be done between two events; true where the room must be given to a worker.
    func runExclusively(_ body: @escaping @Sendable (_ isHeld: Bool) async -> Void) -> Bool {
        state.withLock { state in
            state.exclusiveTasks.append(body)
            defer { state.isQueued = true }
            return !state.isQueued
        }
    }

    func takeExclusiveTasks() -> [@Sendable (_ isHeld: Bool) async -> Void] {
        state.withLock { state in
            defer { state.exclusiveTasks = [] }
            return state.exclusiveTasks
        }
    }

    // MARK: Who is in it

    /// Lets connections in that know all up to `change`, as members at that moment; all of them between two events.
    ///
    /// A connection that is not in yet receives the announcement for its user first, where there is one.
    func join(
        _ entering: [Connection],
        after change: Int64,
        _ connections: Connections,
        announcing announcements: Announcements = [:]
    ) -> JoinResult {
        update { state in
            guard !state.isClosed else { return .isClosed }
            if !entering.isEmpty, entering.allSatisfy(state.connections.contains) { return .joined }
            guard state.change <= change else { return .isAhead }
            for connection in entering {
                admit(connection, &state, connections, announcing: announcements[connection.user] ?? nil)
            }
            // They may all have gone meanwhile.
            if state.connections.isEmpty { finish(&state, connections) }
            return .joined
        }
    }

    func leave(_ connection: Connection, _ connections: Connections, succeededBy successor: Connection? = nil) {
        update { state in
            let keepsSocket = successor.map(state.connections.contains) ?? false
            expel(connection, &state, connections, keepsSocket: keepsSocket)
        }
    }

    /// Everybody out: the conversation is gone.
    func close(_ connections: Connections) {
        update { state in
            for connection in state.connections { expel(connection, &state, connections) }
            finish(&state, connections)
        }
    }

    /// Changes the state, and then does what follows from that without the lock: a socket's event loop may come back
    /// to this room or go on to another one.
    ///
    /// Effects are done in the order of the changes, by one thread at a time. Where another thread is at them, this
    /// returns at once and that thread does these too.
    func update<Result>(_ body: (inout State) -> Result) -> Result {
        let result = state.withLock { body(&$0) }
        var isApplyingEffects = false
        while let effects = takeEffects(&isApplyingEffects) { apply(effects) }
        return result
    }

    /// Nil where this thread has nothing to do, or nothing more.
    private func takeEffects(_ isApplyingEffects: inout Bool) -> [Effect]? {
        state.withLock { state in
            guard isApplyingEffects || !state.isApplyingEffects else { return nil }
            let effects = state.effects
            state.effects = []
            isApplyingEffects = !effects.isEmpty
            state.isApplyingEffects = isApplyingEffects
            return isApplyingEffects ? effects : nil
        }
    }

    private func apply(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .join(let connection): connection.socket.join(conversation)
            case .leave(let connection): connection.socket.leave(conversation)
            case .announce(let event, let connection): connection.socket.emit(event)
            case .emit(let event, let rooms, let origin):
                rooms.emit(event, to: conversation, except: origin.map { [$0.socket] } ?? [])
            }
        }
    }

    /// Under the room's lock; a connection that has gone meanwhile is not let in.
    func admit(
        _ connection: Connection,
        _ state: inout State,
        _ connections: Connections,
        announcing announcement: DeliveryEvent? = nil
    ) {
        guard !state.connections.contains(connection), connections.note(connection, in: conversation) else { return }
        state.connections.insert(connection)
        for draft in connection.takeEarlyDrafts(conversation) { state.origins[draft] = connection }
        if let announcement { state.effects.append(.announce(announcement, connection)) }
        state.effects.append(.join(connection))
    }

    /// Under the room's lock; the last one closes the room.
    func expel(
        _ connection: Connection,
        _ state: inout State,
        _ connections: Connections,
        keepsSocket: Bool = false
    ) {
        guard state.connections.remove(connection) != nil else { return }
        connections.note(connection, notIn: conversation)
        if !keepsSocket { state.effects.append(.leave(connection)) }
        state.origins = state.origins.filter { $0.value !== connection }
        if state.connections.isEmpty { finish(&state, connections) }
    }

    private func finish(_ state: inout State, _ connections: Connections) {
        guard !state.isClosed else { return }
        state.isClosed = true
        state.written = []
        state.writtenBytes = 0
        connections.close(self)
    }

    // MARK: Whose message is whose

    /// This connection sends a draft: its message is not to come back to it; false: it is not in here.
    func setOrigin(_ draft: Draft, from connection: Connection) -> Bool {
        state.withLock { state in
            guard state.connections.contains(connection) else { return false }
            state.origins[draft] = connection
            return true
        }
    }

    /// The draft was not written.
    func clearOrigin(_ draft: Draft) {
        state.withLock { _ = $0.origins.removeValue(forKey: draft) }
    }

    /// The draft had been written before; as long as that message is not told, it is not to come back.
    func clearOrigin(_ draft: Draft, writtenAs seq: Int64) {
        state.withLock { if seq <= $0.seq { $0.origins[draft] = nil } }
    }

    /// The connections here of everybody in it, for what is theirs alone.
    var connections: Set<Connection> { state.withLock { $0.connections } }
}
