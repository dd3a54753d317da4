import ConversationsAPI
import Locks
import Logging
import Postgres
import Wire

/// The joins of the last seconds that are processed.
///
/// Joins are selected by age instead of id, because a join with a lower id may be committed later.
final class RecentJoins: Sendable {
    /// The maximum age of joins in seconds; the sweep misses the joins of a transaction that takes longer to commit.
    static let seconds = 15.0
    static let limit = 1_000

    private let processed = Lock<[Int64: ContinuousClock.Instant]>([:])

    var ids: [Int64] { processed.withLock { Array($0.keys) } }

    func note(_ joins: [MemberJoin]) {
        processed.withLock { processed in
            let now = ContinuousClock.now
            processed = processed.filter { now - $0.value < .seconds(2 * Self.seconds) }
            for memberJoin in joins { processed[memberJoin.id] = now }
        }
    }
}

// Users connected here who join a conversation without a room at this instance, so that no room delivers the join.
extension Delivery {
    /// The maximum number of concurrent tasks; each reads a few rows, and the pool of connections serves other work
    /// too.
    private static let joinTasks = 8

    func checkJoins() async {
        do {
            try await sweepJoins()
        } catch {
            // The next sweep runs within a second.
            logger.warning("cannot read joins", metadata: ["error": "\(error)"])
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

    /// Handles the joins of one conversation in order, and those of different conversations concurrently.
    private func admit(_ found: [MemberJoin]) async throws {
        let conversations = Dictionary(grouping: found, by: \.conversation)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (index, group) in conversations.values.enumerated() {
                if index >= Self.joinTasks { try await tasks.next() }
                tasks.addTask {
                    for memberJoin in group {
                        // A connection that is being attached enters by itself, with the changes that its client has.
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

    /// Handles joins that were deferred while the connection was being attached; from then on no join is deferred.
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
        for (head, joined) in Dictionary(grouping: found, by: \.before) {
            let entering = joined.flatMap {
                connections.of(User.ID(application: memberJoin.application, user: $0.user))
            }.filter { !connections.isIn(memberJoin.conversation, $0) && matches($0) }
            try await admit(entering, head)
        }
    }

    /// Admits members who joined at the same change: each receives the conversation, and then the events after it.
    private func admit(_ entering: [Connection], _ head: ConversationHead) async throws {
        guard !entering.isEmpty else { return }
        guard !isAdmittedByRoom(entering, head) else {
            return changeNotifier.receive([head.conversation: Room.anyChange])
        }
        let announcements = try await announcer.announcements(to: entering.map(\.user), in: head.conversation)
        // A user without an announcement is no longer a member.
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

    /// Whether an open room admits the connections by itself, at the system message about the join.
    ///
    /// A room does so for attached connections. A room that is past that message may have left out a connection that
    /// was being attached then.
    private func isAdmittedByRoom(_ entering: [Connection], _ head: ConversationHead) -> Bool {
        guard head.change > 0, let room = connections.room(head.conversation) else { return false }
        return room.change <= head.change && entering.allSatisfy { !$0.isAttaching }
    }
}
