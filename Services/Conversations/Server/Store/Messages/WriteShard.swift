import ConversationsAPI
import Locks
import Logging
import Metrics
import Postgres
import Wire

/// Writes to some of the conversations, a batch at a time: the next is sent the moment the last is answered.
///
/// So a lone write goes at once, and under load the batches grow by themselves. A batch that fails is cut in halves and
/// run again, so that nobody gets another's error; one of unknown outcome is run again as it is, since what was written
/// is then found by its `clientMessageID`.
final class WriteShard: Sendable {
    private struct State {
        var queue: WriteQueue
        var isRunning = false
    }

    private let writer: BatchWriter
    private let timeout: Duration
    private let logger: Logger
    private let written: @Sendable ([CompletedWrite]) -> Void
    private let state: Lock<State>
    private let batchSizes = Recorder(label: "roost_conversations_batch_writes")
    private let batchTimes = Metrics.Timer(label: "roost_conversations_batch_duration_seconds")
    private let retries = Counter(label: "roost_conversations_batch_retries_total")

    /// - Parameters:
    ///   - segment: what writes a batch.
    ///   - capacity: how many writes may wait.
    ///   - maximumBytes: how much text may wait.
    ///   - patience: how long a caller waits before being told that the outcome is unknown.
    ///   - logger: told of batches that are run again.
    ///   - written: told what became of a batch, once its callers know.
    init(
        writer: BatchWriter,
        capacity: Int,
        maximumBytes: Int,
        timeout: Duration,
        logger: Logger,
        written: @escaping @Sendable ([CompletedWrite]) -> Void
    ) {
        self.writer = writer
        self.timeout = timeout
        self.logger = logger
        self.written = written
        state = Lock(State(queue: WriteQueue(capacity: capacity, maximumBytes: maximumBytes)))
    }

    var waiting: Int { state.withLock { $0.queue.count } }

    /// - Throws: `unavailable` when too much waits already, or when the database did not answer in time; the write may
    ///   then have been made, and the same one may be asked for again.
    func write(_ write: ConversationWrite) async throws -> WriteOutcome {
        try await withCheckedThrowingContinuation { continuation in
            let entry = WriteQueue.Entry(write: write, deadline: .now + timeout, continuation: continuation)
            let (isTaken, mustRun) = state.withLock { state -> (Bool, Bool) in
                guard state.queue.append(entry) else { return (false, false) }
                let mustRun = !state.isRunning
                state.isRunning = true
                return (true, mustRun)
            }
            guard isTaken else {
                continuation.resume(
                    throwing: APIError(.unavailable, "overloaded", "too much is being written; try again")
                )
                return
            }
            // Detached: the lane is nobody's request, and carries on none's trace.
            if mustRun { Task.detached { await self.run() } }
        }
    }

    /// Until nothing waits.
    private func run() async {
        while true {
            let batch = state.withLock { state in
                let batch = state.queue.nextBatch()
                if batch.isEmpty { state.isRunning = false }
                return batch
            }
            guard !batch.isEmpty else { return }
            await run(batch)
        }
    }

    private func run(_ batch: [WriteQueue.Entry]) async {
        var batch = dropExpired(batch)
        var pause = Duration.milliseconds(10)
        while !batch.isEmpty {
            let start = ContinuousClock.now
            do {
                let outcomes = try await writer.write(batch.map(\.write))
                batchTimes.record(duration: start.duration(to: .now))
                batchSizes.record(batch.count)
                for (entry, outcome) in zip(batch, outcomes) { entry.continuation.resume(returning: outcome) }
                written(zip(batch, outcomes).map { CompletedWrite(write: $0.write, outcome: $1) })
                return
            } catch {
                retries.increment()
                guard Self.canRetry(error) else { return await fail(batch, error) }
                if Self.isSlow(error) { return await requeue(batch) }
                logger.warning("a batch is run again", metadata: ["error": "\(error)", "writes": "\(batch.count)"])
            }
            // The database is away: asking faster would only be in its way when it is back.
            try? await ContinuousClock().sleep(for: pause)
            pause = min(pause * 2, .milliseconds(200))
            batch = dropExpired(batch)
        }
    }

    private func fail(_ batch: [WriteQueue.Entry], _ error: any Error) async {
        guard batch.count == 1 else { return await runHalves(batch) }
        batch[0].continuation.resume(throwing: error)
    }

    /// Somebody holds a conversation's lock: those who wait for it go to the end of the queue, and hold up nobody.
    private func requeue(_ batch: [WriteQueue.Entry]) async {
        guard batch.count == 1 else { return await runHalves(batch) }
        for entry in dropExpired(batch) { state.withLock { $0.queue.putBack(entry) } }
    }

    private func runHalves(_ batch: [WriteQueue.Entry]) async {
        await run(Array(batch[..<(batch.count / 2)]))
        await run(Array(batch[(batch.count / 2)...]))
    }

    /// Tells those whose time is up, and leaves the others.
    private func dropExpired(_ batch: [WriteQueue.Entry]) -> [WriteQueue.Entry] {
        let now = ContinuousClock.now
        return batch.filter { entry in
            guard entry.deadline <= now else { return true }
            entry.continuation.resume(throwing: APIError.unavailable("the database"))
            return false
        }
    }

    /// Whether the same batch may pass another time: the fault is not in what it says.
    private static func canRetry(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.kind != .shuttingDown && (error.isUnavailable || error.isRetryable || error.outcomeUnknown)
    }

    /// Whether some of a batch may have held up the rest, by a lock that somebody else has.
    private static func isSlow(_ error: any Error) -> Bool {
        (error as? PostgresError)?.kind == .timeout(outcomeUnknown: false)
    }
}
