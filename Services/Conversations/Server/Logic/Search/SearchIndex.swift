import ConversationsAPI
import Foundation
import Locks
import Logging
import Postgres
import ServiceHost
import Wire

/// The indexing of messages for search, in batches behind the writers.
///
/// Search reads unindexed messages directly.
///
/// The write shards of this instance report the conversations that changed. A scan of all conversations finds messages
/// that other instances wrote and did not index.
///
/// Texts are read and split into words outside of the transaction, which locks `search_marks` only while the words are
/// written. A batch that fails for any reason is halved. A message that fails alone is taken out of its conversation's
/// order, retried with growing pauses, and set aside after the last attempt.
final class SearchIndex: Sendable {
    private struct State {
        var changed: Set<Conversation.ID> = []
        /// Conversations that failed in a batch of their own, with the number of messages in their next batch.
        var failing: [Conversation.ID: Int] = [:]
        var isTurnOfFailing = false
        /// The number of conversations in one batch, halved after a failed batch.
        var batch = SearchIndex.conversations
        /// The number of batches that write shards have written since the last pass.
        var writes = 0
        /// The conversation behind which the scan of all conversations continues; nil between two scans.
        var scan: Conversation.ID? = Conversation.ID(0)
        var nextScan: Date
    }

    /// The maximum number of changed conversations in memory; the scan finds the others.
    private static let capacity = 100_000
    /// The maximum numbers of conversations and, approximately, of messages in one batch; fewer messages while writers
    /// are busy.
    private static let conversations = 64
    private static let messages = 2_048
    private static let messagesWhenBusy = 512
    private static let scanBatch = 1_000
    /// Writers are busy above this number of written batches between two passes.
    private static let busyThreshold = 20
    /// The maximum number of successive batches while no messages are written.
    private static let idlePasses = 8
    /// The maximum bytes of text and number of words in one batch, unless a single message has more.
    ///
    /// They bound the memory of a batch and the time for which the deletion of a conversation waits.
    private static let bytes = 1_048_576
    private static let words = 50_000
    /// The maximum number of failed messages that are retried at once.
    private static let retries = 16

    private let database: PostgresPool
    /// The pause between two scans, in seconds.
    private let rest: TimeInterval
    private let setAside: SetAside
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let state: Lock<State>

    init(
        database: PostgresPool,
        rest: TimeInterval = 300,
        setAside: SetAside,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.database = database
        self.rest = rest
        self.setAside = setAside
        self.logger = logger
        self.now = now
        state = Lock(State(nextScan: now()))
    }

    /// Notes the conversations that a write shard has changed.
    func didWrite(_ batch: [CompletedWrite]) {
        let conversations = batch.filter(\.outcome.changesMessages).map(\.write.conversation)
        guard !conversations.isEmpty else { return }
        state.withLock { state in
            state.writes += 1
            guard state.changed.count < Self.capacity else { return }
            state.changed.formUnion(conversations)
        }
    }

    /// Indexes pending messages, in small batches while messages are being written.
    func indexPending() async throws {
        try await retry()
        let writes = state.withLock { state in
            defer { state.writes = 0 }
            return state.writes
        }
        guard writes <= Self.busyThreshold else {
            try await advance(Self.messagesWhenBusy)
            return
        }
        for _ in 0..<Self.idlePasses {
            guard try await advance(), state.withLock({ $0.writes == 0 }) else { return }
        }
    }

    /// Indexes one batch; returns true when more is pending.
    ///
    /// - Throws: when the database is unavailable. Any other failure belongs to the batch and is logged.
    @discardableResult
    func advance(_ messages: Int = SearchIndex.messages) async throws -> Bool {
        try await scan()
        let (batch, messages) = nextBatch(messages)
        guard !batch.isEmpty else { return state.withLock { $0.scan != nil } }
        do {
            let unfinished = try await index(batch, messages)
            state.withLock { state in
                state.changed.formUnion(unfinished)
                state.batch = min(2 * state.batch, Self.conversations)
                for id in batch where state.failing[id] != nil {
                    state.failing[id] = 2 * messages < Self.messages && unfinished.contains(id) ? 2 * messages : nil
                }
            }
        } catch {
            try await failed(batch, messages, error)
        }
        return state.withLock { !$0.changed.isEmpty || $0.scan != nil }
    }

    /// Retries messages that failed before.
    func retry() async throws {
        let store = SearchIndexStore(db: database)
        for message in try await store.dueFailures(limit: Self.retries) {
            do {
                let written = try await words(of: [message])
                try await database.transaction { db in try await SearchIndexStore(db: db).retry(message, written) }
            } catch {
                try await rethrowUnlessOwn(error)
                try await setAside.failed([message.failed(error)], of: .searchedMessage)
            }
        }
    }

    /// Returns changed conversations and, at every other call, a conversation that failed alone.
    private func nextBatch(_ messages: Int) -> ([Conversation.ID], messages: Int) {
        state.withLock { state in
            state.isTurnOfFailing.toggle()
            let failing = state.failing.first { state.changed.contains($0.key) }
            var batch: [Conversation.ID] = []
            if failing == nil || !state.isTurnOfFailing {
                for id in state.changed where state.failing[id] == nil {
                    batch.append(id)
                    if batch.count == state.batch { break }
                }
            }
            if batch.isEmpty, let failing {
                state.changed.remove(failing.key)
                return ([failing.key], min(messages, failing.value))
            }
            state.changed.subtract(batch)
            return (batch, messages)
        }
    }

    private func failed(_ batch: [Conversation.ID], _ messages: Int, _ error: any Error) async throws {
        state.withLock { $0.changed.formUnion(batch) }
        try await rethrowUnlessOwn(error)
        logger.warning(
            "indexing for search failed",
            metadata: ["conversations": "\(batch.count)", "messages": "\(messages)", "error": "\(error)"]
        )
        guard batch.count == 1, let id = batch.first else {
            state.withLock { $0.batch = max(batch.count / 2, 1) }
            return
        }
        if messages == 1 {
            let message = try await database.transaction { db in
                try await SearchIndexStore(db: db).postpone(nextOf: id)
            }
            if let message { try await setAside.failed([message.failed(error)], of: .searchedMessage) }
        }
        state.withLock { $0.failing[id] = max(messages / 2, 1) }
    }

    /// Rethrows an error when the task is cancelled or the database is unavailable; any other failure belongs to the
    /// batch.
    private func rethrowUnlessOwn(_ error: any Error) async throws {
        try Task.checkCancellation()
        if error is CancellationError { throw error }
        try await database.run("SELECT 1")
    }

    /// Indexes the next messages of conversations; returns the conversations that are not complete.
    private func index(_ conversations: [Conversation.ID], _ messages: Int) async throws -> [Conversation.ID] {
        let limit = max(messages / conversations.count, 1)
        let pending = try await SearchIndexStore(db: database).pending(conversations, limit: limit)
        guard !pending.isEmpty else { return [] }
        let written = try await words(of: pending.flatMap(\.messages))

        var (upTo, unfinished): ([Conversation.ID: Int64], [Conversation.ID]) = ([:], [])
        var left = written.count
        for conversation in pending {
            let done = min(left, conversation.messages.count)
            left -= done
            if done == conversation.messages.count, done < limit {
                upTo[conversation.id] = conversation.lastChange
            } else {
                if done > 0 { upTo[conversation.id] = conversation.messages[done - 1].change }
                unfinished.append(conversation.id)
            }
        }
        let marks = upTo
        try await database.transaction { db in
            let store = SearchIndexStore(db: db)
            try await store.commitAsynchronously()
            let claimed = try await store.claim(pending)
            try await store.write(written.filter { claimed.contains($0.message.conversation) })
            try await store.mark(marks.filter { claimed.contains($0.key) })
        }
        return unfinished
    }

    /// Returns the words of the first messages, as many as one batch may have.
    private func words(of messages: [ChangedMessage]) async throws -> [(message: ChangedMessage, words: String)] {
        var bytes = 0
        let some = messages.prefix { message in
            defer { bytes += message.size ?? 0 }
            return bytes == 0 || bytes + (message.size ?? 0) <= Self.bytes
        }
        let texts = try await SearchIndexStore(db: database).texts(of: Array(some))
        var (written, count): ([(message: ChangedMessage, words: String)], Int) = ([], 0)
        for (message, text) in zip(some, texts) {
            try Task.checkCancellation()
            let words = text.map(SearchWords.words) ?? []
            count += words.count
            guard written.isEmpty || count <= Self.words else { break }
            let head = SearchRange.head(message.conversation, SearchRange.number(of: message.seq))
            written.append((message, words.map { head + $0 }.joined(separator: " ")))
            await Task.yield()
        }
        return written
    }

    /// Scans more conversations, once no reported conversation is pending.
    private func scan() async throws {
        let now = now()
        let start = state.withLock { state -> Conversation.ID? in
            guard state.changed.isEmpty else { return nil }
            if state.scan == nil, state.nextScan <= now { state.scan = Conversation.ID(0) }
            return state.scan
        }
        guard let start else { return }
        let found = try await SearchIndexStore(db: database.reads).stale(after: start, limit: Self.scanBatch)
        state.withLock { state in
            state.changed.formUnion(found.conversations)
            state.scan = found.last
            if found.last == nil { state.nextScan = now.addingTimeInterval(rest) }
        }
    }
}
