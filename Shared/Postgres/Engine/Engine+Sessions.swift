import CLibpq
import DequeModule

// Connections with a single user at a time: single statements, transactions and dedicated connections.
extension Engine {
    func accept(single segment: Segment) {
        guard hasRoomToWait else {
            segment.finish(with: .failure(.exhausted("\(waiters.count) calls are already waiting")))
            return
        }
        segment.queueState = .waitingForConnection
        waiters.append(.single(segment))
        assign()
    }

    func accept(_ segment: Segment, in session: Session) {
        guard !session.isEnded else {
            segment.finish(with: .failure(PostgresError(.transactionAborted, "the transaction has ended")))
            return
        }
        if let failure = session.failure {
            segment.finish(with: .failure(failure))
            return
        }
        guard session.waiting.count < configuration.maximumWaiting else {
            segment.finish(with: .failure(.exhausted("\(session.waiting.count) segments are already waiting")))
            return
        }
        segment.session = session
        segment.queueState = .waitingInSession(session)
        session.waiting.append(segment)
        if session.connection != nil {
            pump(session)
        } else if !session.isTransaction {
            needsConnections = true
        } else if !session.isQueued {
            guard hasRoomToWait else {
                fail(.session(session), with: .exhausted("\(waiters.count) calls are already waiting"))
                return
            }
            session.isQueued = true
            session.waitingUntil = segment.waitingUntil
            waiters.append(.session(session))
            assign()
        }
    }

    /// Whether another caller may queue; callers that receive an idle connection immediately do not count.
    private var hasRoomToWait: Bool {
        !idle.isEmpty || waiters.count < configuration.maximumWaiting
    }

    /// Assigns idle connections to waiters in the order of their arrival.
    func assign() {
        while let waiter = waiters.first {
            switch waiter {
            case .single(let segment) where segment.isFinished: waiters.removeFirst()
            case .session(let session) where session.isEnded || session.failure != nil: waiters.removeFirst()
            default:
                guard let connection = idle.popLast() else {
                    if pooled.count < configuration.transactionConnections { needsConnections = true }
                    return
                }
                waiters.removeFirst()
                assign(connection, to: waiter)
            }
        }
    }

    private func assign(_ connection: Connection, to waiter: Waiter) {
        connection.isAssigned = true
        switch waiter {
        case .single(let segment): transmit(segment, on: connection)
        case .session(let session):
            session.isQueued = false
            session.connection = connection
            connection.session = session
            pump(session)
        }
    }

    /// Sends the waiting segments of a session as long as its connection has capacity.
    func pump(_ session: Session) {
        while let connection = session.connection, connection.isReady, !connection.isCancelling,
            connection.inFlight.count < (connection.isPipelined ? configuration.readsInFlight : 1),
            let segment = session.waiting.popFirst()
        {
            guard !segment.isFinished else { continue }
            let opening = session.isTransaction && !session.isBegun ? session.opening : nil
            session.isBegun = true
            transmit(segment, on: connection, opening: opening)
        }
    }

    /// Ends a transaction, rolls back uncommitted work, and then frees the connection.
    func end(_ session: Session, onRelease: (@Sendable () -> Void)?) {
        guard !session.isEnded else {
            onRelease?()
            return
        }
        session.isEnded = true
        failWaiting(in: session, with: PostgresError(.transactionAborted, "the transaction has ended"))
        guard let connection = session.connection else {
            onRelease?()
            return
        }
        session.connection = nil
        connection.session = nil
        if let onRelease { connection.onRelease.append(onRelease) }
        recycle(connection)
    }

    /// Returns an assigned connection to the idle list if nothing is in flight; rolls back an open transaction first.
    func recycle(_ connection: Connection) {
        guard connection.isPooled, connection.isReady, connection.isAssigned, connection.session == nil,
            connection.inFlight.isEmpty, !connection.isCancelling
        else { return }
        switch PQtransactionStatus(connection.handle) {
        case PQTRANS_IDLE:
            connection.isAssigned = false
            connection.idleSince = now
            idle.append(connection)
            let onRelease = connection.onRelease
            connection.onRelease = []
            for resume in onRelease { resume() }
            assign()
        case PQTRANS_INTRANS, PQTRANS_INERROR:
            let rollback = Segment(.plain("ROLLBACK"), timeout: Self.maintenanceTimeout, purpose: .maintenance)
            transmit(rollback, on: connection)
        default:
            lose(connection, because: .broken)
        }
    }

    static let maintenanceTimeout = 5 * Monotonic.second

    /// Closes a dedicated connection permanently.
    func close(owned session: Session) {
        session.isEnded = true
        sessions.removeAll { $0 === session }
        failWaiting(in: session, with: .shutDown)
        if let connection = session.connection { lose(connection, because: .shutdown) }
    }

    func failWaiting(in session: Session, with error: PostgresError) {
        let waiting = session.waiting
        session.waiting = []
        for segment in waiting { segment.finish(with: .failure(error)) }
    }

    func fail(_ waiter: Waiter, with error: PostgresError) {
        switch waiter {
        case .single(let segment): segment.finish(with: .failure(error))
        case .session(let session):
            session.isQueued = false
            session.failure = error
            failWaiting(in: session, with: error)
        }
    }
}
