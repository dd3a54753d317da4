import ConversationsAPI
import Locks
import Logging
import Postgres
import Wire

/// The arrivals of the last seconds that were dealt with.
///
/// They are asked for by their age and not by their number: one that was written earlier may be committed later.
final class RecentJoins: Sendable {
    /// A transaction that takes longer to commit is not found by the sweep.
    static let seconds = 15.0
    static let limit = 1_000

    private let known = Lock<[Int64: ContinuousClock.Instant]>([:])

    var ids: [Int64] { known.withLock { Array($0.keys) } }

    func note(_ joins: [MemberJoin]) {
        known.withLock { known in
            let now = ContinuousClock.now
            known = known.filter { now - $0.value < .seconds(2 * Self.seconds) }
            for memberJoin in joins { known[memberJoin.id] = now }
        }
    }
}

// Who is connected here and comes into a conversation in which nobody here was: no room is open that would tell of it.
extension Delivery {
    /// Each reads a few rows; the pool of connections serves other work too.
    private static let joinTasks = 8

    func checkJoins() async {
        do {
            try await sweepJoins()
        } catch {
            // The next sweep comes in a second.
            logger.warning("arrivals could not be read", metadata: ["error": "\(error)"])
        }
    }

    func sweepJoins() async throws {
        guard !connections.isEmpty else { return }
        var isAll = false
        while !isAll {
            let found = try await MemberJoinStore(db: database.reads)
                .recent(seconds: RecentJoins.seconds, except: joins.ids, limit: RecentJoins.limit)
            isAll = found.count < RecentJoins.limit
            try await admit(found)
            joins.note(found)
        }
    }

    /// Handles arrivals of one conversation in order, and of different conversations at the same time.
    private func admit(_ found: [MemberJoin]) async throws {
        let conversations = Dictionary(grouping: found, by: \.conversation)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (index, group) in conversations.values.enumerated() {
                if index >= Self.joinTasks { try await tasks.next() }
                tasks.addTask {
                    for memberJoin in group {
                        // A connection that is being attached enters there, with what its client knows.
                        try await self.admit(memberJoin, among: memberJoin.users) { !$0.deferJoin(memberJoin) }
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }

    func pruneJoins() async throws {
        try await MemberJoinStore(db: database).prune(olderThan: 4 * RecentJoins.seconds)
    }

    /// What came while the connection was being attached, and that did not find; from then on nothing is put off.
    func admitDeferred(_ connection: Connection) async throws {
        while let joins = connection.takeDeferredJoins() {
            for memberJoin in joins {
                try await admit(memberJoin, among: [connection.user.user]) { $0 === connection }
            }
        }
    }

    private func admit(
        _ memberJoin: MemberJoin,
        among names: [String]?,
        where matches: (Connection) -> Bool
    ) async throws {
        let users = connections.users(of: memberJoin.application, among: names)
        guard !users.isEmpty else { return }
        let found = try await MemberHeadStore(db: database.reads)
            .headsBeforeJoin(of: users, of: memberJoin.application, in: memberJoin.conversation)
        for (head, people) in Dictionary(grouping: found, by: \.before) {
            let entering = people.flatMap {
                connections.of(User.ID(application: memberJoin.application, user: $0.user))
            }.filter { !connections.isIn(memberJoin.conversation, $0) && matches($0) }
            try await admit(entering, head)
        }
    }

    /// Members who joined at the same change: each receives the conversation, and then what happens from there on.
    private func admit(_ entering: [Connection], _ head: ConversationHead) async throws {
        guard !entering.isEmpty else { return }
        guard !isAdmittedByRoom(entering, head) else {
            return changeNotifier.receive([head.conversation: Room.anyChange])
        }
        let announcements = try await announcer.announcements(to: entering.map(\.user), in: head.conversation)
        // Whoever is not among them is no member any more.
        let members = entering.filter { announcements[$0.user] != nil }
        if !members.isEmpty, !join(members, head, announcing: announcements) {
            var budget = CatchUp.Budget()
            for connection in members where !connections.isIn(head.conversation, connection) {
                try await resume(
                    connection,
                    to: head.conversation,
                    after: head.change,
                    announcing: announcements[connection.user] ?? nil,
                    &budget
                )
            }
        }
        changeNotifier.receive([head.conversation: Room.anyChange])
    }

    /// Whether an open room lets the connections in by itself, at the message that says that the user joined.
    ///
    /// It does so for connections that are attached. A room that is past that message may have left out a connection that
    /// was being attached then.
    private func isAdmittedByRoom(_ entering: [Connection], _ head: ConversationHead) -> Bool {
        guard head.change > 0, let room = connections.room(head.conversation) else { return false }
        return room.change <= head.change && entering.allSatisfy { !$0.isAttaching }
    }
}
