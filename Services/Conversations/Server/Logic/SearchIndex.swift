import ConversationsAPI
import Foundation
import Locks
import Postgres
import Wire

/// Brings into the index what was said, edited and deleted: behind those who write, and a little at a time, so that it
/// never is in their way; what has not come there yet is searched as it stands.
///
/// Which conversations changed it hears from the lanes of this instance. What other instances wrote and did not come to
/// index, and what was there before there was an index, it finds by going through all conversations now and then.
final class SearchIndex: Sendable {
    private struct State {
        var changed: Set<Conversation.ID> = []
        /// How many of them are indexed in one go: fewer after one that was refused.
        var batch = SearchIndex.conversations
        /// How often something was written since the last look.
        var writes = 0
        /// Behind which conversation the walk through all of them goes on; nil while it rests.
        var walk: Conversation.ID? = Conversation.ID(0)
        var nextWalk: Date
    }

    /// How many conversations that changed are remembered; the walk finds the others.
    private static let capacity = 100_000
    /// How many conversations, and about how many messages, are indexed in one go at most; fewer while much is written.
    private static let conversations = 64
    private static let messages = 2_048
    private static let messagesWhenBusy = 512
    private static let walked = 1_000
    /// So many batches between two looks are much.
    private static let busy = 20
    /// In a row, while nobody writes.
    private static let goes = 8

    private let database: PostgresPool
    /// In seconds, from the end of a walk to the next.
    private let rest: TimeInterval
    private let now: @Sendable () -> Date
    private let state: Lock<State>

    init(database: PostgresPool, rest: TimeInterval = 300, now: @escaping @Sendable () -> Date) {
        self.database = database
        self.rest = rest
        self.now = now
        state = Lock(State(nextWalk: now()))
    }

    /// What a lane has written.
    func note(_ batch: [LaneRecord]) {
        let conversations = batch.filter(\.outcome.changesMessages).map(\.write.conversation)
        guard !conversations.isEmpty else { return }
        state.withLock { state in
            state.writes += 1
            guard state.changed.count < Self.capacity else { return }
            state.changed.formUnion(conversations)
        }
    }

    /// Goes on with what there is to do; but little at a time while others write.
    func keepUp() async throws {
        let writes = state.withLock { state in
            defer { state.writes = 0 }
            return state.writes
        }
        guard writes <= Self.busy else {
            try await advance(Self.messagesWhenBusy)
            return
        }
        for _ in 0..<Self.goes {
            guard try await advance(), state.withLock({ $0.writes == 0 }) else { return }
        }
    }

    /// One go; true where there is more to do.
    @discardableResult
    func advance(_ messages: Int = SearchIndex.messages) async throws -> Bool {
        try await walk()
        let batch = state.withLock { state in
            let batch = Array(state.changed.prefix(state.batch))
            state.changed.subtract(batch)
            return batch
        }
        guard !batch.isEmpty else { return state.withLock { $0.walk != nil } }
        do {
            let unfinished = try await index(batch, messages)
            state.withLock { state in
                state.changed.formUnion(unfinished)
                state.batch = min(2 * state.batch, Self.conversations)
            }
        } catch {
            let isRefusal = (error as? PostgresError)?.isRefusal == true
            state.withLock { state in
                if isRefusal { state.batch = max(batch.count / 2, 1) }
                // One that cannot be indexed alone keeps no other waiting: a walk comes back to it.
                if !isRefusal || batch.count > 1 { state.changed.formUnion(batch) }
            }
            throw error
        }
        return state.withLock { !$0.changed.isEmpty || $0.walk != nil }
    }

    /// Answers those that are not done yet.
    private func index(_ conversations: [Conversation.ID], _ messages: Int) async throws -> [Conversation.ID] {
        try await database.transaction { db in
            let store = SearchIndexStore(db: db)
            try await store.relax()
            let marks = try await store.claim(conversations)
            guard !marks.isEmpty else { return [] }
            let limit = messages / marks.count
            let (changed, upTo) = try await store.changed(since: marks, limit: limit)
            try await store.write(changed.map { ($0, Self.words(of: $0)) })
            try await store.mark(upTo)
            let counts = changed.reduce(into: [:]) { $0[$1.conversation, default: 0] += 1 }
            return counts.filter { $0.value == limit }.map(\.key)
        }
    }

    /// Looks at some more conversations, once those known to have changed are done.
    private func walk() async throws {
        let now = now()
        let start = state.withLock { state -> Conversation.ID? in
            guard state.changed.isEmpty else { return nil }
            if state.walk == nil, state.nextWalk <= now { state.walk = Conversation.ID(0) }
            return state.walk
        }
        guard let start else { return }
        let found = try await SearchIndexStore(db: database.reads).stale(after: start, limit: Self.walked)
        state.withLock { state in
            state.changed.formUnion(found.conversations)
            state.walk = found.last
            if found.last == nil { state.nextWalk = now.addingTimeInterval(rest) }
        }
    }

    private static func words(of message: SearchIndexStore<PostgresTransaction>.Changed) -> String {
        guard let text = message.text else { return "" }
        let head = SearchStretch.head(message.conversation, SearchStretch.number(of: message.seq))
        return SearchWords.words(in: text).map { head + $0 }.joined(separator: " ")
    }
}
