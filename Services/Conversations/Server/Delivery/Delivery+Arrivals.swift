import ConversationsAPI
import Locks
import Logging
import Postgres
import Wire

/// The arrivals of the last seconds that were dealt with.
///
/// They are asked for by their age and not by their number: one that was written earlier may be committed later.
final class RecentArrivals: Sendable {
    /// A transaction that takes longer to commit is not found by the sweep.
    static let seconds = 15.0
    static let limit = 1_000

    private let known = Lock<[Int64: ContinuousClock.Instant]>([:])

    var ids: [Int64] { known.withLock { Array($0.keys) } }

    func note(_ arrivals: [Arrival]) {
        known.withLock { known in
            let now = ContinuousClock.now
            known = known.filter { now - $0.value < .seconds(2 * Self.seconds) }
            for arrival in arrivals { known[arrival.id] = now }
        }
    }
}

// Who is connected here and comes into a conversation in which nobody here was: no room is open that would tell of it.
extension Delivery {
    /// Each reads a few rows; the pool of connections serves other work too.
    private static let arrivalTasks = 8

    func lookForArrivals() async {
        do {
            try await sweepArrivals()
        } catch {
            // The next sweep comes in a second.
            logger.warning("arrivals could not be read", metadata: ["error": "\(error)"])
        }
    }

    func sweepArrivals() async throws {
        guard !connections.isEmpty else { return }
        var isAll = false
        while !isAll {
            let found = try await ArrivalStore(db: database.reads)
                .recent(seconds: RecentArrivals.seconds, except: arrivals.ids, limit: RecentArrivals.limit)
            isAll = found.count < RecentArrivals.limit
            try await welcome(found)
            arrivals.note(found)
        }
    }

    /// Handles arrivals of one conversation in order, and of different conversations at the same time.
    private func welcome(_ found: [Arrival]) async throws {
        let conversations = Dictionary(grouping: found, by: \.conversation)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (index, group) in conversations.values.enumerated() {
                if index >= Self.arrivalTasks { try await tasks.next() }
                tasks.addTask {
                    for arrival in group {
                        // A connection that is being attached enters there, with what its client knows.
                        try await self.welcome(arrival, among: arrival.users) { !$0.putsOff(arrival) }
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }

    func pruneArrivals() async throws {
        try await ArrivalStore(db: database).prune(olderThan: 4 * RecentArrivals.seconds)
    }

    /// What came while the connection was being attached, and that did not find; from then on nothing is put off.
    func welcomePutOff(_ connection: Connection) async throws {
        while let arrivals = connection.takePutOff() {
            for arrival in arrivals {
                try await welcome(arrival, among: [connection.user.user]) { $0 === connection }
            }
        }
    }

    private func welcome(
        _ arrival: Arrival,
        among names: [String]?,
        where isMeant: (Connection) -> Bool
    ) async throws {
        let users = connections.users(of: arrival.application, among: names)
        guard !users.isEmpty else { return }
        let found = try await PlaceStore(db: database.reads)
            .arrivals(of: users, of: arrival.application, in: arrival.conversation)
        for (place, people) in Dictionary(grouping: found, by: \.before) {
            let arriving = people.flatMap {
                connections.of(User.ID(application: arrival.application, user: $0.user))
            }.filter { !connections.isIn(arrival.conversation, $0) && isMeant($0) }
            try await welcome(arriving, place)
        }
    }

    /// Members who joined at the same change: each receives the conversation, and then what happens from there on.
    private func welcome(_ arriving: [Connection], _ place: Place) async throws {
        guard !arriving.isEmpty else { return }
        guard !isLeftToRoom(arriving, place) else { return doorbell.hear([place.conversation: Room.look]) }
        let announcements = try await announcer.announcements(to: arriving.map(\.user), in: place.conversation)
        // Whoever is not among them is no member any more.
        let members = arriving.filter { announcements[$0.user] != nil }
        if !members.isEmpty, !join(members, place, announcing: announcements) {
            var budget = ComingBack.Budget()
            for connection in members where !connections.isIn(place.conversation, connection) {
                try await comeBack(
                    connection,
                    to: place.conversation,
                    knowing: place.change,
                    announcing: announcements[connection.user] ?? nil,
                    &budget
                )
            }
        }
        doorbell.hear([place.conversation: Room.look])
    }

    /// Whether an open room lets the connections in by itself, at the message that says that the user joined.
    ///
    /// It does so for connections that are attached. A room that is past that message may have left out a connection that
    /// was being attached then.
    private func isLeftToRoom(_ arriving: [Connection], _ place: Place) -> Bool {
        guard place.change > 0, let room = connections.room(place.conversation) else { return false }
        return room.change <= place.change && arriving.allSatisfy { !$0.isBeingAttached }
    }
}
