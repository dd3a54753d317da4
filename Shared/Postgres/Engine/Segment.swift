import Locks
import Synchronization

/// The engine's unit of work: the messages sent before one Sync, and the task that waits for the results.
final class Segment: @unchecked Sendable {
    // Unchecked: the caller's values are constant, `state` guards `waiter`, and only the engine uses the rest.

    enum Work {
        /// Statements that are prepared on first use.
        case statements([Statement])
        /// A statement that is not prepared, because maintenance statements rarely repeat.
        case plain(String)
        /// Several statements in one text, sent with the simple protocol outside pipeline mode.
        case script(String)
    }

    /// The purpose of a segment, which determines the consequence of a lost connection.
    enum Purpose {
        /// Reads only; can be sent again and never has an unknown outcome.
        case read
        /// A transaction by itself.
        case standalone
        /// Part of a transaction, which is rolled back if the connection is lost.
        case transaction
        /// The COMMIT of a transaction.
        case commit
        /// The engine's own statement.
        case maintenance
    }

    /// The results to expect from the server, in order.
    enum Step {
        case begin
        case prepare(StatementCache.Entry)
        case run(StatementCache.Entry?)
    }

    /// The queue that holds the segment.
    enum QueueState {
        case unqueued
        case waitingForReads
        case waitingForConnection
        case waitingInSession(Session)
        case inFlight(Connection)
        case done
    }

    let work: Work
    let timeout: Int64
    private let state = Atomic<UInt8>(State.made)
    private var waiter: UnsafeContinuation<[PostgresResult], any Error>?

    // The engine thread's state.
    var purpose: Purpose
    var queueState = QueueState.unqueued
    var session: Session?
    var steps: [Step] = []
    var completedSteps = 0
    var results: [PostgresResult] = []
    var error: PostgresError?
    var isStale = false
    var attempts = 0
    var submittedAt: Int64 = 0
    var waitingUntil: Int64 = 0
    var readDeadline = Int64.max
    var onCompletion: ((Result<[PostgresResult], PostgresError>) -> Void)?

    private enum State {
        static let made: UInt8 = 0
        static let waited: UInt8 = 1
        static let finished: UInt8 = 2
    }

    init(_ queries: [PostgresQuery], timeout: Duration, purpose: Purpose = .standalone) throws {
        work = .statements(try queries.map(Statement.init))
        self.timeout = timeout.nanoseconds
        self.purpose = purpose
    }

    init(_ work: Work, timeout: Int64, purpose: Purpose) {
        self.work = work
        self.timeout = timeout
        self.purpose = purpose
    }

    /// Whether the result was delivered or the task was cancelled.
    var isFinished: Bool { state.load(ordering: .acquiring) == State.finished }

    /// Stores the continuation to resume; returns false if the task is already cancelled.
    func wait(with continuation: UnsafeContinuation<[PostgresResult], any Error>) -> Bool {
        waiter = continuation
        let (armed, _) = state.compareExchange(
            expected: State.made,
            desired: State.waited,
            ordering: .acquiringAndReleasing
        )
        return armed
    }

    /// Resumes the caller with a `CancellationError`; returns false if the engine has nothing to withdraw.
    func cancel() -> Bool {
        guard state.exchange(State.finished, ordering: .acquiringAndReleasing) == State.waited else { return false }
        resume(with: .failure(CancellationError()))
        return true
    }

    /// Resumes the caller with the result, unless it was already resumed.
    func finish(with result: Result<[PostgresResult], PostgresError>) {
        queueState = .done
        if let onCompletion {
            self.onCompletion = nil
            onCompletion(result)
        }
        guard state.exchange(State.finished, ordering: .acquiringAndReleasing) == State.waited else { return }
        resume(with: result.mapError { $0 })
    }

    private func resume(with result: Result<[PostgresResult], any Error>) {
        Locks.assertNoneHeld("resume a continuation")
        let waiter = waiter
        self.waiter = nil
        waiter?.resume(with: result)
    }

    /// Resets the segment so that it can be sent again.
    func reset() {
        steps = []
        completedSteps = 0
        results = []
        error = nil
        isStale = false
        attempts += 1
    }
}
