import ConversationsAPI
import Locks
import Metrics
import Wire

/// The connections of this instance, and the rooms that they open.
///
/// The lock of this registry is never held while a room's lock is taken; a room may take it while holding its own.
final class Connections: Sendable {
    private struct State {
        var rooms: [Conversation.ID: Room] = [:]
        /// The conversations that each connection is in.
        var memberships: [Connection: Set<Conversation.ID>] = [:]
        var users: [User.ID: [Connection]] = [:]
        var sessions: [String: [Connection]] = [:]
        /// The number of connections being attached, whose rooms may not be open yet.
        var attaching = 0
        /// Changes received meanwhile for conversations without a room; nil when there were too many.
        var missedChange: [Conversation.ID: Int64]? = [:]
    }

    /// The maximum number of conversations in `missedChange`; beyond it, every room that opens is read.
    private static let missedCapacity = 10_000

    private let state = Lock(State())
    private let connectionGauge = Gauge(label: "roost_conversations_connections")
    private let roomGauge = Gauge(label: "roost_conversations_open_rooms")

    // MARK: Connecting and disconnecting

    /// Registers a connection before its conversations are known, so that later joins of its user are not missed.
    func add(_ connection: Connection) {
        state.withLock { state in
            state.memberships[connection] = []
            state.users[connection.user, default: []].append(connection)
            state.sessions[connection.session, default: []].append(connection)
            state.attaching += 1
            connectionGauge.record(state.memberships.count)
        }
    }

    /// Records that a connection is in all its rooms, or is detached.
    func finishAttaching() {
        state.withLock { state in
            state.attaching -= 1
            if state.attaching == 0 { state.missedChange = [:] }
        }
    }

    /// Removes a connection; returns its rooms, or nil when it was already removed.
    func remove(_ connection: Connection) -> [Room]? {
        state.withLock { state in
            guard let memberships = state.memberships.removeValue(forKey: connection) else { return nil }
            state.users.drop(connection, of: connection.user)
            state.sessions.drop(connection, of: connection.session)
            connectionGauge.record(state.memberships.count)
            return memberships.compactMap { state.rooms[$0] }
        }
    }

    func contains(_ connection: Connection) -> Bool { state.withLock { $0.memberships[connection] != nil } }

    func of(_ user: User.ID) -> [Connection] { state.withLock { $0.users[user] ?? [] } }

    func of(session: String) -> [Connection] { state.withLock { $0.sessions[session] ?? [] } }

    func isConnected(_ user: User.ID) -> Bool { state.withLock { $0.users[user] != nil } }

    func isConnected(_ user: User.ID, device: String) -> Bool {
        state.withLock { $0.users[user]?.contains { $0.device.isExactly(device) } ?? false }
    }

    var isEmpty: Bool { state.withLock { $0.memberships.isEmpty } }

    /// The devices of all connections.
    var devices: Set<ConnectedDevice> {
        state.withLock { Set($0.memberships.keys.map { ConnectedDevice(user: $0.user, device: $0.device) }) }
    }

    // MARK: Rooms

    /// Whether any connection of this instance may need events.
    var isListening: Bool { state.withLock { !$0.rooms.isEmpty || $0.attaching > 0 } }

    func room(_ conversation: Conversation.ID) -> Room? { state.withLock { $0.rooms[conversation] } }

    /// Returns the open rooms of changed conversations; records other changes while connections are being attached.
    func rooms(receiving changes: [Conversation.ID: Int64]) -> [(room: Room, change: Int64)] {
        state.withLock { state in
            changes.compactMap { conversation, change in
                if let room = state.rooms[conversation] { return (room, change) }
                if state.attaching > 0, let noted = state.missedChange?[conversation, default: 0], noted < change {
                    state.missedChange?[conversation] = change
                    if (state.missedChange?.count ?? 0) > Self.missedCapacity { state.missedChange = nil }
                }
                return nil
            }
        }
    }

    /// Returns the conversation's room, opened with `make` if necessary, and the change received before it was open.
    func open(_ conversation: Conversation.ID, _ make: () -> Room) -> (room: Room, missedChange: Int64?) {
        if let room = room(conversation) { return (room, nil) }
        let room = make()
        return state.withLock { state in
            // Another thread may have opened it meanwhile.
            if let room = state.rooms[conversation] { return (room, nil) }
            state.rooms[conversation] = room
            roomGauge.record(state.rooms.count)
            guard let missedChange = state.missedChange else { return (room, Room.anyChange) }
            return (room, missedChange[conversation])
        }
    }

    func close(_ room: Room) {
        state.withLock { state in
            if state.rooms[room.conversation] === room { state.rooms[room.conversation] = nil }
            roomGauge.record(state.rooms.count)
        }
    }

    /// Returns false when the connection was removed.
    func note(_ connection: Connection, in conversation: Conversation.ID) -> Bool {
        state.withLock { $0.memberships[connection]?.insert(conversation) != nil }
    }

    func note(_ connection: Connection, notIn conversation: Conversation.ID) {
        state.withLock { _ = $0.memberships[connection]?.remove(conversation) }
    }

    func isIn(_ conversation: Conversation.ID, _ connection: Connection) -> Bool {
        state.withLock { $0.memberships[connection]?.contains(conversation) ?? false }
    }

    var conversations: [Conversation.ID] { state.withLock { Array($0.rooms.keys) } }

    /// Returns at most `limit` open rooms; `start` advances with each call, so that all rooms have their turn.
    func openRooms(limit: Int, from start: borrowing Lock<Int>) -> [Room] {
        let rooms = state.withLock { $0.rooms }
        guard rooms.count > limit else { return Array(rooms.values) }
        let first = start.withLock { start in
            if start >= rooms.count { start = 0 }
            defer { start += limit }
            return start
        }
        return rooms.values.dropFirst(first).prefix(limit).map { $0 }
    }

    /// Returns the users of an application who are connected here: all of them, or those among `names`.
    func users(of application: String, among names: [String]?) -> [String] {
        state.withLock { state in
            if let names {
                return names.filter { state.users[User.ID(application: application, user: $0)] != nil }
            }
            return state.users.keys.filter { $0.application.isExactly(application) }.map(\.user)
        }
    }
}

extension Dictionary where Value == [Connection] {
    fileprivate mutating func drop(_ connection: Connection, of key: Key) {
        self[key]?.removeAll { $0 === connection }
        if self[key]?.isEmpty == true { self[key] = nil }
    }
}
