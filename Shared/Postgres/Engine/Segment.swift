import Locks
import Synchronization

/// What goes to the server before one Sync, and whoever waits for the answer: the engine's unit of work.
final class Segment: @unchecked Sendable {
    // Unchecked: what the caller made is constant; `waiter` is handed over through `state`; the rest is the engine's.

    /// What is sent.
    enum Work {
        /// Prepared on first use.
        case statements([Statement])
        /// Sent as it is, once: housekeeping whose text hardly repeats.
        case plain(String)
        /// Many statements in one text, by the simple protocol; only outside pipeline mode.
        case script(String)
    }

    /// What the segment is for, which decides what its loss means.
    enum Purpose {
        /// Reads only: may be sent again, and has no outcome that could be unknown.
        case read
        /// Commits by itself.
        case standalone
        /// Part of a transaction, which is rolled back if the connection is lost.
        case transaction
        /// Ends a transaction.
        case commit
        /// The engine's own.
        case maintenance
    }

    /// What the server will answer, in order.
    enum Step {
        case begin
        case prepare(StatementCache.Entry)
        case run(StatementCache.Entry?)
    }

    /// Where the engine has it.
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

    // The engine thread's.
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

    /// Whether nobody waits any more.
    var isFinished: Bool { state.load(ordering: .acquiring) == State.finished }

    /// Makes `continuation` the one to resume; false if the task was cancelled before.
    func wait(with continuation: UnsafeContinuation<[PostgresResult], any Error>) -> Bool {
        waiter = continuation
        let (armed, _) = state.compareExchange(
            expected: State.made,
            desired: State.waited,
            ordering: .acquiringAndReleasing
        )
        return armed
    }

    /// Gives the caller back with a `CancellationError`; false if there is nothing left for the engine to undo.
    func cancel() -> Bool {
        guard state.exchange(State.finished, ordering: .acquiringAndReleasing) == State.waited else { return false }
        resume(with: .failure(CancellationError()))
        return true
    }

    /// Gives the caller its answer, unless it was given back before.
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

    /// Makes it ready to be sent once more.
    func reset() {
        steps = []
        completedSteps = 0
        results = []
        error = nil
        isStale = false
        attempts += 1
    }
}
