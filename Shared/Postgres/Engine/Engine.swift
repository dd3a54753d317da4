import CLibpq
import DequeModule
import Foundation
import Locks
import Logging
import Synchronization

/// The thread that owns all connections of a pool: it accepts segments, sends them, delivers results and checks
/// deadlines.
///
/// Other threads communicate with it only through the inbox and the continuation of each ``Segment``. No other thread
/// uses the properties under "The engine thread's state". libpq's rule of one thread per connection therefore holds
/// without a lock.
final class Engine: @unchecked Sendable {
    // Unchecked: the type's comment gives the reason.

    /// The connections that may run a segment.
    enum Route {
        case reads
        case single
        case session(Session)
    }

    enum Command: Sendable {
        case run(Segment, Route)
        case cancelled(Segment)
        case end(Session, onRelease: (@Sendable () -> Void)?)
        case open(Session)
        case close(Session)
        case subscribe(Subscription)
        case unsubscribe(Subscription)
        case connectStarted(id: UInt64, handle: Handle?)
        case cancelReturned(id: UInt64)
        case shutdown(@Sendable () -> Void)
        case stop
    }

    /// A libpq connection passed from the thread that resolved its host name.
    struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// A caller that waits for exclusive use of a connection.
    enum Waiter {
        case single(Segment)
        case session(Session)
    }

    enum Lifecycle {
        case fresh, running, stopped
    }

    let configuration: PostgresConfiguration
    let logger: Logger
    let metrics: EngineMetrics
    let poller: Poller
    let inbox: Inbox<Command>
    let lifecycle = Lock(Lifecycle.fresh)
    private let isShuttingDown = Atomic<Bool>(false)

    // The engine thread's state.
    var now = Monotonic.now()
    var connections: [UInt64: Connection] = [:]
    var lastID: UInt64 = 0
    var reads: [Connection] = []
    var readsWaiting: Deque<Segment> = []
    var pooled: [Connection] = []
    var idle: [Connection] = []
    var waiters: Deque<Waiter> = []
    var sessions: [Session] = []
    var subscriptions: [Subscription] = []
    var backoff = Backoff()
    var lastProblem = "the server has not responded yet"
    var lost = 0
    var needsConnections = true
    var nextTick: Int64 = 0
    /// Whether anything has happened since the gauges were last updated.
    var hasUnrecordedMetrics = false
    var drainUntil: Int64?
    var isFinished = false
    var onShutdown: [() -> Void] = []

    init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        var logger = logger
        logger[metadataKey: "pool"] = "\(configuration.name)"
        self.logger = logger
        metrics = EngineMetrics(pool: configuration.name)
        let poller = Poller()
        self.poller = poller
        inbox = Inbox { poller.wake() }
    }
}

// The interface for other threads.
extension Engine {
    func start() {
        let starts = lifecycle.withLock { lifecycle in
            guard lifecycle == .fresh else { return false }
            lifecycle = .running
            return true
        }
        guard starts else { return }
        let thread = Thread { self.loop() }
        thread.name = "postgres"
        thread.start()
    }

    func post(_ command: Command) -> Bool {
        inbox.post(command)
    }

    /// Runs a segment and withdraws it if the task is cancelled.
    func run(_ segment: Segment, on route: Route) async throws -> [PostgresResult] {
        try await withTaskCancellationHandler {
            try await submit(segment, on: route)
        } onCancel: {
            if segment.cancel() { _ = post(.cancelled(segment)) }
        }
    }

    /// Runs a segment without observing cancellation.
    func submit(_ segment: Segment, on route: Route) async throws -> [PostgresResult] {
        start()
        if isShuttingDown.load(ordering: .relaxed) {
            // Transactions that started before the shutdown may finish.
            guard case .session(let session) = route, session.isTransaction, session.isUsed.load(ordering: .relaxed)
            else { throw PostgresError.shutDown }
        }
        if case .session(let session) = route { session.isUsed.store(true, ordering: .relaxed) }
        return try await withUnsafeThrowingContinuation { continuation in
            guard segment.wait(with: continuation) else {
                continuation.resume(throwing: CancellationError())
                return
            }
            if !post(.run(segment, route)) { segment.finish(with: .failure(.shutDown)) }
        }
    }

    func commit(_ session: Session) async throws {
        guard session.isUsed.load(ordering: .relaxed) else { return }
        try Task.checkCancellation()
        let segment = try Segment(["COMMIT"], timeout: configuration.statementTimeout, purpose: .commit)
        let results = try await submit(segment, on: .session(session))
        guard results.last?.commandTag == "COMMIT" else {
            throw PostgresError(.transactionAborted, "the transaction was rolled back because a statement failed")
        }
    }

    /// Rolls back an open transaction; waits for completion unless the task is cancelled.
    func rollback(_ session: Session) async {
        guard session.isUsed.load(ordering: .relaxed) else { return }
        guard !Task.isCancelled else {
            _ = post(.end(session, onRelease: nil))
            return
        }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            if !post(.end(session, onRelease: { continuation.resume() })) { continuation.resume() }
        }
    }

    func open(_ session: Session) {
        start()
        _ = post(.open(session))
    }

    func close(_ session: Session) {
        _ = post(.close(session))
    }

    func shutdown() async {
        isShuttingDown.store(true, ordering: .relaxed)
        let isRunning = lifecycle.withLock { lifecycle in
            defer { if lifecycle == .fresh { lifecycle = .stopped } }
            return lifecycle == .running
        }
        guard isRunning else {
            _ = inbox.close()
            return
        }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            if !post(.shutdown { continuation.resume() }) { continuation.resume() }
        }
    }

    /// Stops the thread without waiting for work in progress.
    func stop() {
        _ = post(.stop)
    }
}
