import CLibpq
import DequeModule
import Foundation
import Locks
import Logging
import Synchronization

/// The thread that owns every connection of a pool: takes segments, sends them, hands back answers, and keeps time.
///
/// Callers and the thread meet in the inbox and in ``Segment``'s continuation only. Everything under "the thread's own"
/// is touched by no other thread, so libpq's rule (one thread per connection) holds without a lock.
final class Engine: @unchecked Sendable {
    // Unchecked: see above.

    /// Which connections a segment runs on.
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

    /// A connection on its way from the thread that looked up its host.
    struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// Who waits for a connection of his own.
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

    // The thread's own.
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
    var lastProblem = "the server has not answered yet"
    var lost = 0
    var needsConnections = true
    var nextTick: Int64 = 0
    /// Whether anything has happened since the gauges were last set.
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

// What other threads call.
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

    /// Runs a segment for a task that may be cancelled.
    func run(_ segment: Segment, on route: Route) async throws -> [PostgresResult] {
        try await withTaskCancellationHandler {
            try await submit(segment, on: route)
        } onCancel: {
            if segment.cancel() { _ = post(.cancelled(segment)) }
        }
    }

    /// Runs a segment to its end.
    func submit(_ segment: Segment, on route: Route) async throws -> [PostgresResult] {
        start()
        if isShuttingDown.load(ordering: .relaxed) {
            // What had begun before may end.
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
            throw PostgresError(.transactionAborted, "the transaction was rolled back, since a statement had failed")
        }
    }

    /// Rolls back what is open and returns when it is, or at once for a cancelled task.
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

    /// Ends the thread without waiting for anything.
    func stop() {
        _ = post(.stop)
    }
}
