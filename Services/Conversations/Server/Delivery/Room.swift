import ConversationsAPI
import DequeModule
import Locks
import Wire

/// An instance's view of one conversation: how far it is delivered, and to which connections.
///
/// One worker at a time reads and delivers. Connections join between two events, at a known change.
final class Room: Sendable {
    /// Requests a read, whatever the last change is.
    static let anyChange = Int64.max

    /// A message that was written here, so that it need not be read.
    struct Written: Sendable {
        let message: MessageWrite
        let outcome: WrittenMessage
    }

    /// The identity of a draft until its message is delivered.
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
        /// Every change up to this number is delivered.
        var change: Int64
        /// Every message up to this `seq` is delivered.
        var seq: Int64
        var connections: Set<Connection> = []
        /// The highest change in a notification; `anyChange` when it is unknown.
        var pendingChange: Int64 = 0
        /// Whether the room waits for a worker, or a worker processes it.
        var isQueued = false
        var isClosed = false
        var written: Deque<Written> = []
        var writtenBytes = 0
        /// Tasks to run while the room delivers nothing.
        var exclusiveTasks: [@Sendable (_ isHeld: Bool) async -> Void] = []
        /// The connection that sent each draft, to which its message is not delivered.
        var origins: [Draft: Connection] = [:]
        /// The effects of the changes above, in their order, that are not applied yet.
        var effects: [Effect] = []
        /// Whether a thread is applying effects; it applies those that are added meanwhile too.
        var isApplyingEffects = false
    }

    /// An action on sockets after the lock is released.
    enum Effect: Sendable {
        case join(Connection)
        case leave(Connection)
        /// Sent to one connection, before it joins.
        case announce(DeliveryEvent, Connection)
        case emit(DeliveryEvent, to: any DeliveryRooms, except: Connection?)
    }

    enum JoinResult {
        case joined
        /// The room has delivered more than the connections have; the caller must read again.
        case isAhead
        case isClosed
    }

    /// The maximum number and bytes of messages written here that wait for delivery; further ones are read again.
    private static let writtenCapacity = 256
    private static let writtenBytesCapacity = 524_288

    let conversation: Conversation.ID
    let application: String
    let state: Lock<State>

    /// Creates a room that has delivered all changes up to `change`, including the messages up to `seq`.
    init(_ conversation: Conversation.ID, of application: String, change: Int64, seq: Int64) {
        self.conversation = conversation
        self.application = application
        state = Lock(State(change: change, seq: seq))
    }

    var change: Int64 { state.withLock { $0.change } }

    /// Whether no worker is about to read or deliver.
    var isIdle: Bool { state.withLock { !$0.isQueued } }

    // MARK: Pending changes

    /// Records that there may be changes up to this number; returns true when the room must be queued.
    func notify(_ change: Int64) -> Bool {
        state.withLock { state in
            guard change > state.change, !state.isClosed else { return false }
            state.pendingChange = max(state.pendingChange, change)
            defer { state.isQueued = true }
            return !state.isQueued
        }
    }

    /// Records a message that was written here; returns true when the room must be queued.
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

    /// Adds a task to run between two events; returns true when the room must be queued.
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

    // MARK: Connections

    /// Admits connections that have all changes up to `change`, as members at that time; all of them between two
    /// events.
    ///
    /// A connection that is not in the room yet first receives the announcement for its user, if there is one.
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
            // All of them may have been detached meanwhile.
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

    /// Removes all connections, because the conversation was deleted.
    func close(_ connections: Connections) {
        update { state in
            for connection in state.connections { expel(connection, &state, connections) }
            finish(&state, connections)
        }
    }

    /// Changes the state, then applies the effects without the lock: a socket's event loop may call this room again or
    /// another one.
    ///
    /// Effects are applied in the order of the changes, by one thread at a time. While another thread is applying
    /// effects, this method returns at once, and that thread applies these too.
    func update<Result>(_ body: (inout State) -> Result) -> Result {
        let result = state.withLock { body(&$0) }
        var isApplyingEffects = false
        while let effects = takeEffects(&isApplyingEffects) { apply(effects) }
        return result
    }

    /// Returns nil when this thread has no effects to apply, or no more.
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

    /// Must run under the room's lock; a connection that was detached meanwhile is not admitted.
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

    /// Must run under the room's lock; the last connection closes the room.
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

    // MARK: Origins of messages

    /// Records that a connection sends a draft, whose message is not delivered back to it; returns false if it is not
    /// in the room.
    func setOrigin(_ draft: Draft, from connection: Connection) -> Bool {
        state.withLock { state in
            guard state.connections.contains(connection) else { return false }
            state.origins[draft] = connection
            return true
        }
    }

    /// Removes a draft that was not written.
    func clearOrigin(_ draft: Draft) {
        state.withLock { _ = $0.origins.removeValue(forKey: draft) }
    }

    /// Removes a draft that had been written before, unless its message is still to be delivered.
    func clearOrigin(_ draft: Draft, writtenAs seq: Int64) {
        state.withLock { if seq <= $0.seq { $0.origins[draft] = nil } }
    }

    /// The connections in the room, for events to some of them.
    var connections: Set<Connection> { state.withLock { $0.connections } }
}
