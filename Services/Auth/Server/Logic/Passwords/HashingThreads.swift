import Dispatch
import Foundation
import Locks
import ServiceHost
import Wire

/// A pool of threads for work that occupies a core for long, so that no event loop waits for it.
///
/// The threads have a low priority, so that all other work of the machine goes first.
///
/// The queue is bounded and fair. Clients are served in rotation, one job each. If the queue is full, a client with few
/// jobs displaces the newest job of the client with the most jobs. One client therefore cannot fill the queue alone.
/// Once the queue is a quarter full, an account has at most `sharePerAccount` jobs in it.
final class HashingThreads: Sendable {
    /// The most jobs of one account in a queue that is more than a quarter full.
    static let sharePerAccount = 4
    /// The jobs that one client can always add to a full queue, while other clients have more.
    static let sharePerClient = 4

    /// The client and the account that a job is counted for.
    struct Share: Hashable, Sendable {
        /// The client's network: a /64 for IPv6; nil if the address is unknown.
        var client: Data?
        /// The account, whether it exists or not; nil if the request names none.
        var account: Data?

        init(of caller: ClientInfo? = nil, account: String? = nil) {
            client = caller?.address?.network
            self.account = account.map { Data($0.utf8) }
        }
    }

    private let work: Work

    /// - Parameters:
    ///   - count: the number of threads, at least 1.
    ///   - maximumWaiting: the most jobs that wait for a thread.
    init(count: Int, maximumWaiting: Int) {
        let work = Work(maximumWaiting: maximumWaiting)
        self.work = work
        for number in 0..<max(1, count) {
            let thread = Thread {
                // Set inside the thread, because it otherwise keeps the name of the thread that created it.
                Thread.current.name = "hashing-\(number)"
                #if os(Linux)
                // On Linux, the process id 0 means only the calling thread.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                #endif
                work.perform()
            }
            thread.start()
        }
    }

    var waiting: Int { work.waiting }

    deinit {
        work.stop()
    }

    /// Runs `body` on one of the threads.
    ///
    /// - Throws: the errors of `body`; a 429 if the client or account has its share of the queue; a 503 if the queue is
    ///   full of other clients' jobs; `CancellationError` if the task was cancelled before the job began.
    func run<Result: Sendable>(
        for share: Share = Share(),
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let id = work.nextID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let job = Work.Job(
                    id: id,
                    share: share,
                    perform: { continuation.resume(with: Swift.Result { try body() }) },
                    refuse: { continuation.resume(throwing: $0) }
                )
                if Task.isCancelled {
                    job.refuse(CancellationError())
                } else {
                    work.add(job)
                    // A cancellation before `add` found no job to cancel, so it is checked again here.
                    if Task.isCancelled { work.cancel(id) }
                }
            }
        } onCancel: {
            work.cancel(id)
        }
    }
}

extension HashingThreads {
    /// The queue of the threads.
    ///
    /// The threads hold this object and not the pool, so that the pool's `deinit` can stop them.
    private final class Work: Sendable {
        struct Job: Sendable {
            let id: Int
            let share: Share
            let perform: @Sendable () -> Void
            let refuse: @Sendable (any Error) -> Void

            /// The key of the rotation: the client's network, or the account if the address is unknown.
            var client: Data { share.client ?? share.account ?? Data() }
        }

        private struct State {
            var queue = FairQueue()
            var lastID = 0
            var isStopped = false
        }

        private let maximumWaiting: Int
        private let state = Lock(State())
        /// Signaled once per job, and by each thread that stops, to stop the next thread.
        private let signal = DispatchSemaphore(value: 0)

        init(maximumWaiting: Int) {
            self.maximumWaiting = maximumWaiting
        }

        var waiting: Int { state.withLock { $0.queue.count } }

        func nextID() -> Int {
            state.withLock { state in
                state.lastID += 1
                return state.lastID
            }
        }

        func add(_ job: Job) {
            let refused: (job: Job, error: any Error)? = state.withLock { state in
                guard !state.isStopped else { return (job, CancellationError()) }
                return state.queue.add(job, maximum: maximumWaiting).map { ($0.job, $0.error) }
            }
            refused?.job.refuse(refused?.error ?? CancellationError())
            // A job that displaced another one uses that job's signal.
            if refused == nil { signal.signal() }
        }

        func cancel(_ id: Int) {
            let job = state.withLock { $0.queue.remove(id) }
            job?.refuse(CancellationError())
        }

        func perform() {
            while true {
                signal.wait()
                let (job, isStopped) = state.withLock { ($0.queue.next(), $0.isStopped) }
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

    private struct FairQueue {
        private static let ofClient =
            APIError(
                .rateLimited,
                "too_many_concurrent_requests",
                "too many concurrent requests; try again later",
                retryAfter: 1
            )
        private static let full =
            APIError(.unavailable, "overloaded", "too many concurrent sign-ins; try again later", retryAfter: 1)

        /// The jobs of each client, oldest first.
        private var jobs: [Data: [Work.Job]] = [:]
        /// The clients that have jobs, each once, in the order of service.
        private var rotation: [Data] = []
        private var perAccount: [Data: Int] = [:]
        private(set) var count = 0

        /// Adds a job.
        ///
        /// - Returns: the rejected job, which is the new job or the job that it displaced.
        mutating func add(_ job: Work.Job, maximum: Int) -> (job: Work.Job, error: APIError)? {
            if let account = job.share.account, count > maximum / 4,
                perAccount[account, default: 0] >= HashingThreads.sharePerAccount
            {
                return (job, Self.ofClient)
            }
            let own = jobs[job.client, default: []].count
            guard count >= maximum else {
                append(job)
                return nil
            }
            guard let (heaviest, others) = jobs.max(by: { $0.value.count < $1.value.count }),
                own + 1 < others.count, let newest = others.last
            else {
                return (job, own >= HashingThreads.sharePerClient ? Self.ofClient : Self.full)
            }
            drop(newest, of: heaviest)
            append(job)
            return (newest, Self.ofClient)
        }

        /// Removes the oldest job of the next client in the rotation.
        mutating func next() -> Work.Job? {
            guard let client = rotation.first, let job = jobs[client]?.first else { return nil }
            rotation.removeFirst()
            rotation.append(client)
            drop(job, of: client)
            return job
        }

        mutating func remove(_ id: Int) -> Work.Job? {
            for (client, waiting) in jobs {
                guard let job = waiting.first(where: { $0.id == id }) else { continue }
                drop(job, of: client)
                return job
            }
            return nil
        }

        private mutating func append(_ job: Work.Job) {
            if jobs[job.client] == nil { rotation.append(job.client) }
            jobs[job.client, default: []].append(job)
            if let account = job.share.account { perAccount[account, default: 0] += 1 }
            count += 1
        }

        private mutating func drop(_ job: Work.Job, of client: Data) {
            jobs[client]?.removeAll { $0.id == job.id }
            if jobs[client]?.isEmpty == true {
                jobs[client] = nil
                rotation.removeAll { $0 == client }
            }
            if let account = job.share.account {
                let left = perAccount[account, default: 1] - 1
                perAccount[account] = left > 0 ? left : nil
            }
            count -= 1
        }
    }
}
