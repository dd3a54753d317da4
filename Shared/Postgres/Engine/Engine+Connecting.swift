import CLibpq
import Foundation
import Logging

/// The delays between attempts to connect after failures: 50 ms, doubled up to 2 s, minus up to 25 %.
struct Backoff {
    private(set) var failures = 0
    private var lastFailure: Int64 = 0
    private var pause: Int64 = 0

    /// Whether attempts currently fail; then one attempt at a time is enough.
    var isFailing: Bool { failures > 0 }

    /// Returns the time of the next attempt, at most 0.5 s after the last failure if `isUrgent`.
    func due(isUrgent: Bool) -> Int64 {
        guard isFailing else { return 0 }
        return lastFailure + (isUrgent ? min(pause, Monotonic.second / 2) : pause)
    }

    mutating func succeeded() {
        failures = 0
    }

    mutating func failed(startedAt: Int64, now: Int64) {
        // Attempts that ran concurrently fail together and count as one failure.
        if failures == 0 || startedAt >= lastFailure { failures += 1 }
        lastFailure = now
        let doubled = 50 * Monotonic.millisecond << Int64(min(failures - 1, 6))
        pause = Int64(Double(min(doubled, 2 * Monotonic.second)) * Double.random(in: 0.75...1))
    }
}

/// Runs blocking libpq calls (host lookups, cancel requests) on threads of their own.
enum Background {
    static func run(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread(body)
    }
}

extension Engine {
    private var hasWaiters: Bool {
        !readsWaiting.isEmpty || !waiters.isEmpty || sessions.contains { !$0.waiting.isEmpty }
    }

    /// Whether any connection is still being opened.
    var isConnecting: Bool { connections.values.contains { !$0.isReady } }

    /// The time of the next check for missing connections.
    var nextAttempt: Int64 { backoff.due(isUrgent: hasWaiters) }

    /// Opens the missing connections; one at a time while attempts fail.
    func openMissingConnections() {
        guard now >= nextAttempt, !backoff.isFailing || !isConnecting else { return }
        let missing = missing()
        for role in missing.prefix(backoff.isFailing ? 1 : .max) { connect(role) }
        needsConnections = backoff.isFailing && !missing.isEmpty
    }

    private func missing() -> [Connection.Role] {
        var roles: [Connection.Role] = []
        if drainUntil == nil {
            roles += Array(repeating: .reads, count: max(0, configuration.readConnections - reads.count))
        }
        let busy = pooled.count { $0.isAssigned }
        let target = min(configuration.transactionConnections, max(1, busy + waiters.count))
        roles += Array(repeating: .pooled, count: max(0, target - pooled.count))
        for session in sessions where session.connection == nil { roles.append(.session(session)) }
        for subscription in subscriptions where subscription.connection == nil { roles.append(.listener(subscription)) }
        return roles
    }

    private func connect(_ role: Connection.Role) {
        lastID += 1
        let id = lastID
        let connection = Connection(
            id: id,
            role: role,
            now: now,
            preparedStatements: configuration.preparedStatements
        )
        connections[id] = connection
        switch role {
        case .reads: reads.append(connection)
        case .pooled: pooled.append(connection)
        case .session(let session): session.connection = connection
        case .listener(let subscription): subscription.connection = connection
        }
        let parameters = ConnectionParameters(configuration, for: role)
        Background.run {
            let handle = parameters.start().map(Handle.init)
            if !self.post(.connectStarted(id: id, handle: handle)), let handle { PQfinish(handle.pointer) }
        }
    }

    /// Continues with a connection whose host name was resolved.
    func proceed(id: UInt64, with handle: Handle?) {
        guard let connection = connections[id], case .starting = connection.phase else {
            if let handle { PQfinish(handle.pointer) }
            return
        }
        connection.handle = handle?.pointer
        guard handle != nil, PQstatus(connection.handle) != CONNECTION_BAD else {
            refused(connection)
            return
        }
        wait(for: connection, toWrite: true)
    }

    private func wait(for connection: Connection, toWrite: Bool) {
        connection.phase = .polling(writing: toWrite)
        poller.watch(connection.socket, id: connection.id, reading: !toWrite, writing: toWrite)
    }

    func poll(_ connection: Connection) {
        switch PQconnectPoll(connection.handle) {
        case PGRES_POLLING_READING: wait(for: connection, toWrite: false)
        case PGRES_POLLING_WRITING: wait(for: connection, toWrite: true)
        case PGRES_POLLING_OK: connected(connection)
        default: refused(connection)
        }
    }

    private func connected(_ connection: Connection) {
        guard PQsetnonblocking(connection.handle, 1) == 0,
            !connection.isPipelined || PQenterPipelineMode(connection.handle) == 1
        else {
            refused(connection)
            return
        }
        // By default libpq prints notices to standard error.
        PQsetNoticeReceiver(connection.handle, ignoreNotice, nil)
        poller.watch(connection.socket, id: connection.id, reading: true, writing: false)
        connection.phase = .ready
        connection.headSince = now
        if backoff.isFailing { logger.info("postgres reconnected") }
        backoff.succeeded()
        needsConnections = true
        if lost > 0 {
            lost -= 1
            metrics.reconnected()
        }
        switch connection.role {
        case .reads: sendWaitingReads()
        case .pooled:
            connection.idleSince = now
            idle.append(connection)
            assign()
        case .session(let session): pump(session)
        case .listener(let subscription): listen(subscription, on: connection)
        }
    }

    /// Abandons an attempt to connect.
    func refused(_ connection: Connection, because reason: String? = nil) {
        lastProblem = reason ?? connection.problem
        if !backoff.isFailing {
            logger.warning("postgres connection failed", metadata: ["reason": "\(lastProblem)"])
        }
        backoff.failed(startedAt: connection.startedAt, now: now)
        lose(connection, because: .broken)
    }
}

/// libpq's callback for notices; at file scope, so that it is not isolated to an actor.
private func ignoreNotice(_: UnsafeMutableRawPointer?, _: OpaquePointer?) {}
