import ConversationsAPI
import Locks
import Metrics
import Wire

/// Who is connected to this instance, and which conversations that opens here.
///
/// This registry's lock is never held while a room's is taken; a room may take it while it holds its own.
final class Connections: Sendable {
    private struct State {
        var rooms: [Conversation.ID: Room] = [:]
        /// The conversations that each connection is in.
        var memberships: [Connection: Set<Conversation.ID>] = [:]
        var users: [User.ID: [Connection]] = [:]
        var sessions: [String: [Connection]] = [:]
        /// How many are being attached, whose rooms may not be open yet.
        var attaching = 0
        /// What was heard meanwhile of conversations that nobody here was in; nil when it was too much to remember.
        var missedChange: [Conversation.ID: Int64]? = [:]
    }

    /// How many conversations are remembered while somebody is attached; past it, each that is opened is looked at.
    private static let missedCapacity = 10_000

    private let state = Lock(State())
    private let connectionGauge = Gauge(label: "roost_conversations_connections")
    private let roomGauge = Gauge(label: "roost_conversations_open_rooms")

    // MARK: Coming and going

    /// Registers a connection, before it is known which conversations it is in: those that its user comes into from now
    /// on are not missed.
    func add(_ connection: Connection) {
        state.withLock { state in
            state.memberships[connection] = []
            state.users[connection.user, default: []].append(connection)
            state.sessions[connection.session, default: []].append(connection)
            state.attaching += 1
            connectionGauge.record(state.memberships.count)
        }
    }

    /// The connection is in all its rooms, or gone.
    func finishAttaching() {
        state.withLock { state in
            state.attaching -= 1
            if state.attaching == 0 { state.missedChange = [:] }
        }
    }

    /// Answers the rooms it was in; nil where it is not here any more.
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

    /// Whose devices they are.
    var devices: Set<ConnectedDevice> {
        state.withLock { Set($0.memberships.keys.map { ConnectedDevice(user: $0.user, device: $0.device) }) }
    }

    // MARK: Rooms

    /// Whether anybody here may have to be told of anything.
    var isListening: Bool { state.withLock { !$0.rooms.isEmpty || $0.attaching > 0 } }

    func room(_ conversation: Conversation.ID) -> Room? { state.withLock { $0.rooms[conversation] } }

    /// The rooms of those of these conversations that are open; what is not is remembered while somebody comes in.
    func rooms(receiving changes: [Conversation.ID: Int64]) -> [(room: Room, change: Int64)] {
        state.withLock { state in
            changes.compactMap { conversation, change in
                if let room = state.rooms[conversation] { return (room, change) }
                if state.attaching > 0, let known = state.missedChange?[conversation, default: 0], known < change {
                    state.missedChange?[conversation] = change
                    if (state.missedChange?.count ?? 0) > Self.missedCapacity { state.missedChange = nil }
                }
                return nil
            }
        }
    }

    /// The conversation's room, opened with `make` if need be; with the change that was heard of before it was.
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

    /// False: the connection is gone.
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

    /// So many of the open rooms at most; with where the last time ended, all of them in turn.
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

    /// Those of an application who are connected here, all or among some.
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
