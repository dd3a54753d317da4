import Dispatch
import Foundation
import Synchronization
import Wire

/// A few threads of their own for work that takes a core for long, so that no event loop ever waits for it.
///
/// They are niced: while they are busy, everything else in the process and beside it goes first. What waits is bounded;
/// past the bound work is refused at once.
final class HashingThreads: Sendable {
    private let work: Work

    /// - Parameters:
    ///   - count: how many threads; at least one.
    ///   - maximumWaiting: how much work may wait for a thread.
    init(count: Int, maximumWaiting: Int) {
        let work = Work(maximumWaiting: maximumWaiting)
        self.work = work
        for number in 0..<max(1, count) {
            let thread = Thread {
                // Named from inside, or it keeps the name of the thread that made it.
                Thread.current.name = "hashing-\(number)"
                #if os(Linux)
                // On Linux a "process" of 0 is the calling thread alone.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                #endif
                work.perform()
            }
            thread.start()
        }
    }

    deinit {
        work.stop()
    }

    /// Runs `body` on one of the threads.
    ///
    /// - Throws: what `body` throws; a 503 where too much is waiting already; `CancellationError` if the caller gave up
    ///   before it began.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        let id = work.nextID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let job = Work.Job(
                    id: id,
                    perform: { continuation.resume(with: Swift.Result { try body() }) },
                    refuse: { continuation.resume(throwing: $0) }
                )
                if Task.isCancelled {
                    job.refuse(CancellationError())
                } else {
                    work.add(job)
                    // Who gave up a moment before had nothing to take back yet.
                    if Task.isCancelled { work.cancel(id) }
                }
            }
        } onCancel: {
            work.cancel(id)
        }
    }
}

extension HashingThreads {
    /// What waits for a thread.
    ///
    /// The threads hold this and not their owner, whose end ends them.
    private final class Work: Sendable {
        struct Job: Sendable {
            let id: Int
            let perform: @Sendable () -> Void
            let refuse: @Sendable (any Error) -> Void
        }

        private struct State {
            var waiting: [Job] = []
            var lastID = 0
            var isStopped = false
        }

        private let maximumWaiting: Int
        private let state = Mutex(State())
        /// Signalled once per job, and once by each thread that ends for the next one.
        private let signal = DispatchSemaphore(value: 0)

        init(maximumWaiting: Int) {
            self.maximumWaiting = maximumWaiting
        }

        func nextID() -> Int {
            state.withLock { state in
                state.lastID += 1
                return state.lastID
            }
        }

        func add(_ job: Job) {
            let refusal: (any Error)? = state.withLock { state in
                guard !state.isStopped else { return CancellationError() }
                guard state.waiting.count < maximumWaiting else {
                    return APIError(.unavailable, "too_busy", "too many sign-ins at once; try again", retryAfter: 1)
                }
                state.waiting.append(job)
                return nil
            }
            if let refusal { job.refuse(refusal) } else { signal.signal() }
        }

        func cancel(_ id: Int) {
            let job = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            job?.refuse(CancellationError())
        }

        func perform() {
            while true {
                signal.wait()
                let (job, isStopped) = state.withLock { state in
                    (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.isStopped)
                }
                if let job {
                    job.perform()
                } else if isStopped {
                    signal.signal()
                    return
                }
            }
        }

        func stop() {
            state.withLock { $0.isStopped = true }
            signal.signal()
        }
    }
}
