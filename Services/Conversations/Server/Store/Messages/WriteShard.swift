import ConversationsAPI
import Locks
import Logging
import Metrics
import Postgres
import Wire

/// A writer of some of the conversations, one batch at a time: the next batch is sent as soon as the last is answered.
///
/// So a single write is sent at once, and batches grow by themselves under load. A batch that fails is split into
/// halves and run again, so that no caller receives the error of another. A batch with an unknown outcome is run again
/// unchanged: messages that were written are then found by their `clientMessageID`.
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
    ///   - writer: writes a batch.
    ///   - capacity: the maximum number of queued writes.
    ///   - maximumBytes: the maximum bytes of text in the queue.
    ///   - timeout: how long a caller waits before it receives an error because the outcome is unknown.
    ///   - logger: receives retries of batches.
    ///   - written: receives the outcomes of a batch, after its callers.
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

    /// Queues a write and returns its outcome.
    ///
    /// - Throws: `unavailable` when the queue is full, or when the database did not answer in time. In the latter case
    ///   the write may have been made, and the caller may repeat it.
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
                    throwing: APIError(.unavailable, "overloaded", "too many writes are queued; try again")
                )
                return
            }
            // Detached: the loop serves all callers, so it must not continue the trace of one request.
            if mustRun { Task.detached { await self.run() } }
        }
    }

    /// Writes batches until the queue is empty.
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
                logger.warning("retrying write batch", metadata: ["error": "\(error)", "writes": "\(batch.count)"])
            }
            // While the database is unavailable, faster retries would only slow down its recovery.
            try? await ContinuousClock().sleep(for: pause)
            pause = min(pause * 2, .milliseconds(200))
            batch = dropExpired(batch)
        }
    }

    private func fail(_ batch: [WriteQueue.Entry], _ error: any Error) async {
        guard batch.count == 1 else { return await runHalves(batch) }
        batch[0].continuation.resume(throwing: error)
    }

    /// Another transaction holds a conversation's lock: the writes that wait for it move to the end of the queue.
    private func requeue(_ batch: [WriteQueue.Entry]) async {
        guard batch.count == 1 else { return await runHalves(batch) }
        for entry in dropExpired(batch) { state.withLock { $0.queue.putBack(entry) } }
    }

    private func runHalves(_ batch: [WriteQueue.Entry]) async {
        await run(Array(batch[..<(batch.count / 2)]))
        await run(Array(batch[(batch.count / 2)...]))
    }

    /// Fails the writes whose deadline has passed, and returns the others.
    private func dropExpired(_ batch: [WriteQueue.Entry]) -> [WriteQueue.Entry] {
        let now = ContinuousClock.now
        return batch.filter { entry in
            guard entry.deadline <= now else { return true }
            entry.continuation.resume(throwing: APIError.unavailable("the database"))
            return false
        }
    }

    /// Returns whether the same batch may succeed later, because its content is not the cause of the error.
    private static func canRetry(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.kind != .shuttingDown && (error.isUnavailable || error.isRetryable || error.outcomeUnknown)
    }

    /// Returns whether some of a batch may have delayed the rest, by waiting for another transaction's lock.
    private static func isSlow(_ error: any Error) -> Bool {
        (error as? PostgresError)?.kind == .timeout(outcomeUnknown: false)
    }
}
