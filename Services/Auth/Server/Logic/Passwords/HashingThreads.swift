import Dispatch
import Foundation
import Locks
import ServiceHost
import Wire

/// A few threads of their own for work that takes a core for long, so that no event loop ever waits for it.
///
/// They are niced: while they are busy, everything else in the process and beside it goes first.
///
/// The queue is bounded and shared fairly. Clients are served in turn, one job each. A full queue makes room for a client
/// with few jobs by refusing the newest job of the client with the most, so one client cannot occupy it alone. Once the
/// queue is a quarter full, an account has at most `sharePerAccount` jobs in it.
final class HashingThreads: Sendable {
    /// Jobs of one account that wait in a queue that is more than a quarter full.
    static let sharePerAccount = 4
    /// Jobs of one client that a full queue always has room for, as long as other clients have more.
    static let sharePerClient = 4

    /// The two parties that a job is accounted to.
    struct Share: Hashable, Sendable {
        /// The network that the client belongs to; a /64 for IPv6, and nil where the address is unknown.
        var client: Data?
        /// The account, whether it exists or not; nil where there is none yet.
        var account: Data?

        init(of caller: ClientInfo? = nil, account: String? = nil) {
            client = caller?.address?.network
            self.account = account.map { Data($0.utf8) }
        }
    }

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

    /// Jobs that wait for a thread.
    var waiting: Int { work.waiting }

    deinit {
        work.stop()
    }

    /// Runs `body` on one of the threads.
    ///
    /// - Throws: what `body` throws; a 429 when this client or account has its share of the queue; a 503 when the queue is
    ///   full of other clients' jobs; `CancellationError` if the caller gave up before it began.
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
            let share: Share
            let perform: @Sendable () -> Void
            let refuse: @Sendable (any Error) -> Void

            /// The party that takes turns: without an address, the account itself.
            var client: Data { share.client ?? share.account ?? Data() }
        }

        private struct State {
            var queue = FairQueue()
            var lastID = 0
            var isStopped = false
        }

        private let maximumWaiting: Int
        private let state = Lock(State())
        /// Signalled once per job, and once by each thread that ends for the next one.
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
            // A job that took another's place has that one's signal.
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

    /// Waiting jobs, by client and in turn.
    private struct FairQueue {
        private static let ofClient =
            APIError(
                .rateLimited,
                "too_many_concurrent_requests",
                "too many of these at once; try again",
                retryAfter: 1
            )
        private static let full =
            APIError(.unavailable, "overloaded", "too many sign-ins at once; try again", retryAfter: 1)

        /// The jobs of each client that has any, oldest first.
        private var jobs: [Data: [Work.Job]] = [:]
        /// Each client that has jobs, once, the next to be served first.
        private var rotation: [Data] = []
        private var perAccount: [Data: Int] = [:]
        private(set) var count = 0

        /// Adds a job.
        ///
        /// - Returns: the job that was refused, which is the new one or the one that it displaced.
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

        /// Takes the oldest job of the client whose turn it is.
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
