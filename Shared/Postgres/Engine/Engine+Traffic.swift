import CLibpq
import DequeModule
import Logging
import Synchronization

extension Engine {
    /// The reason for giving up a connection.
    enum Loss {
        /// The socket or the server closed it.
        case broken
        /// The server did not respond in time.
        case silent
        /// The pool closes it.
        case shutdown
    }

    func transmit(_ segment: Segment, on connection: Connection, opening: String? = nil) {
        guard connection.send(segment, opening: opening, now: now) else {
            // Without its Sync, no part of the segment can be committed.
            lose(connection, because: .broken)
            requeue(segment)
            return
        }
        flush(connection)
    }

    func flush(_ connection: Connection) {
        switch connection.flush() {
        case nil: lose(connection, because: .broken)
        case let isFlushed?:
            guard connection.isWatchedForWriting == isFlushed else { return }
            connection.isWatchedForWriting = !isFlushed
            poller.watch(connection.socket, id: connection.id, reading: true, writing: !isFlushed)
        }
    }

    func receive(on connection: Connection) {
        let isAlive = connection.receive(now: now) { segment in
            completed(segment, on: connection)
        }
        if connection.isReady, !connection.isReads { deliverNotifications(on: connection) }
        guard isAlive else {
            lose(connection, because: .broken)
            return
        }
        if connection.isReads {
            if !readsWaiting.isEmpty { sendWaitingReads() }
        } else if case .session(let session) = connection.role {
            pump(session)
        } else if let session = connection.session {
            pump(session)
        }
        // Reading may have freed space in the send buffer.
        if connection.isReady, connection.isWatchedForWriting { flush(connection) }
    }

    private func completed(_ segment: Segment, on connection: Connection) {
        metrics.completed(segment, at: now)
        if segment.isStale, segment.attempts < 3, !segment.isFinished, retry(segment, on: connection) { return }
        if let error = segment.error {
            if let session = segment.session, error.isRetryable || segment.isStale {
                session.failedRetryably.store(true, ordering: .relaxed)
            }
            segment.finish(with: .failure(error.withoutServerTimeout))
        } else {
            segment.finish(with: .success(segment.results))
        }
        if segment.purpose == .commit, let session = segment.session {
            session.isEnded = true
            session.connection = nil
            connection.session = nil
        }
        recycle(connection)
    }

    /// Runs a segment with a stale prepared statement again; returns false if that is impossible.
    private func retry(_ segment: Segment, on connection: Connection) -> Bool {
        switch segment.purpose {
        case .read:
            retryRead(segment)
            return true
        case .standalone where connection.inFlight.isEmpty && !connection.isCancelling:
            segment.reset()
            transmit(segment, on: connection)
            return true
        default: return false
        }
    }

    /// Queues a segment that could not be sent for another connection.
    ///
    /// A read is retried up to `readConnections` times, other segments once.
    private func requeue(_ segment: Segment) {
        guard segment.attempts == 0 || canRetry(segment) else {
            segment.finish(with: .failure(.lost(outcomeUnknown: false, lastProblem)))
            return
        }
        switch segment.purpose {
        case .read: retryRead(segment)
        case .standalone:
            segment.reset()
            guard let session = segment.session else {
                segment.queueState = .waitingForConnection
                waiters.prepend(.single(segment))
                needsConnections = true
                return
            }
            segment.queueState = .waitingInSession(session)
            session.waiting.prepend(segment)
        case .transaction, .maintenance:
            segment.finish(with: .failure(.lost(outcomeUnknown: false, lastProblem)))
        case .commit:
            // The server executes a COMMIT on arrival, before the Sync arrives.
            segment.finish(with: .failure(.lost(outcomeUnknown: true, lastProblem)))
        }
    }

    /// Closes a connection and finishes every segment that was in flight on it.
    func lose(_ connection: Connection, because loss: Loss) {
        guard !connection.isClosed else { return }
        let problem = loss == .silent ? "the server does not respond" : connection.problem
        let wasReady = connection.isReady
        remove(connection)
        needsConnections = true
        if loss != .shutdown, wasReady {
            lost += 1
            lastProblem = problem
            metrics.lost()
            logger.warning(
                "postgres connection lost",
                metadata: ["reason": "\(problem)", "in_flight": "\(connection.inFlight.count)"]
            )
        }
        let inFlight = connection.inFlight
        connection.inFlight = []
        // A transaction whose COMMIT was not sent is certainly rolled back.
        if let session = connection.session {
            let error = PostgresError.lost(outcomeUnknown: false, problem)
            session.failure = error
            session.connection = nil
            connection.session = nil
            failWaiting(in: session, with: error)
        }
        if case .session(let session) = connection.role { session.connection = nil }
        if case .listener(let subscription) = connection.role { subscription.connection = nil }
        for (index, segment) in inFlight.enumerated().reversed() {
            finishLost(segment, isOldest: index == 0, because: loss, problem)
        }
        let onRelease = connection.onRelease
        connection.onRelease = []
        for resume in onRelease { resume() }
    }

    /// Whether a segment is a read with retries left.
    ///
    /// The limit is the number of read connections. They usually fail together, so the next connection may be lost as
    /// well.
    private func canRetry(_ segment: Segment) -> Bool {
        segment.purpose == .read && segment.attempts < configuration.readConnections
    }

    private func finishLost(_ segment: Segment, isOldest: Bool, because loss: Loss, _ problem: String) {
        // An error that arrived before the loss is a definite result: the whole segment is rolled back.
        if let error = segment.error {
            segment.finish(with: .failure(error.withoutServerTimeout))
            return
        }
        if loss == .broken, canRetry(segment) {
            retryRead(segment)
            return
        }
        let isUnknown = segment.purpose == .standalone || segment.purpose == .commit
        if loss == .silent, isOldest {
            let message = "the server did not respond in time"
            segment.finish(with: .failure(PostgresError(.timeout(outcomeUnknown: isUnknown), message)))
        } else {
            segment.finish(with: .failure(.lost(outcomeUnknown: isUnknown, problem)))
        }
    }

    /// Closes a connection and removes it from all lists.
    func remove(_ connection: Connection) {
        if connection.handle != nil { poller.unwatch(connection.socket) }
        connection.close()
        connections[connection.id] = nil
        reads.removeAll { $0 === connection }
        pooled.removeAll { $0 === connection }
        idle.removeAll { $0 === connection }
    }
}

extension PostgresError {
    static func lost(outcomeUnknown: Bool, _ problem: String) -> PostgresError {
        PostgresError(.connectionLost(outcomeUnknown: outcomeUnknown), "the connection was lost: \(problem)")
    }

    static func exhausted(_ problem: String) -> PostgresError {
        PostgresError(.poolExhausted, "no connection is free: \(problem)")
    }

    /// The error as a timeout with a known outcome, if the server cancelled the statement (SQLSTATE 57014).
    var withoutServerTimeout: PostgresError {
        sqlState == "57014" ? PostgresError(.timeout(outcomeUnknown: false), message) : self
    }
}
