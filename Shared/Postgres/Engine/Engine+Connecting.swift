import CLibpq
import Foundation
import Logging

/// When to try again to connect to a server that did not let us.
struct Backoff {
    private(set) var failures = 0
    private var lastFailure: Int64 = 0
    private var pause: Int64 = 0

    /// Whether attempts fail at the moment, so that one at a time is enough.
    var isFailing: Bool { failures > 0 }

    /// When the next attempt is due; sooner if somebody waits for it.
    func due(isUrgent: Bool) -> Int64 {
        guard isFailing else { return 0 }
        return lastFailure + (isUrgent ? min(pause, Monotonic.second / 2) : pause)
    }

    mutating func succeeded() {
        failures = 0
    }

    mutating func failed(startedAt: Int64, now: Int64) {
        // Those that were tried side by side fail side by side, and count once.
        if failures == 0 || startedAt >= lastFailure { failures += 1 }
        lastFailure = now
        let doubled = 50 * Monotonic.millisecond << Int64(min(failures - 1, 6))
        pause = Int64(Double(min(doubled, 2 * Monotonic.second)) * Double.random(in: 0.75...1))
    }
}

/// What blocks in libpq (looking up a host, asking to cancel), on a thread of its own for as long as it takes.
enum Background {
    static func run(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread(body)
    }
}

// Making connections.
extension Engine {
    private var hasWaiters: Bool {
        !readsWaiting.isEmpty || !waiters.isEmpty || sessions.contains { !$0.waiting.isEmpty }
    }

    /// Whether an attempt is under way.
    var isConnecting: Bool { connections.values.contains { !$0.isReady } }

    /// When to look again for what is missing.
    var nextAttempt: Int64 { backoff.due(isUrgent: hasWaiters) }

    /// Starts as many connections as are wanted; one at a time while the server refuses.
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

    /// Goes on with a connection whose host was found.
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
        // A notice is no answer; by default libpq prints it to standard error.
        PQsetNoticeReceiver(connection.handle, ignoreNotice, nil)
        poller.watch(connection.socket, id: connection.id, reading: true, writing: false)
        connection.phase = .ready
        connection.headSince = now
        if backoff.isFailing { logger.info("postgres is back") }
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

    /// Gives up an attempt to connect.
    func refused(_ connection: Connection, because reason: String? = nil) {
        lastProblem = reason ?? connection.problem
        if !backoff.isFailing {
            logger.warning("postgres refuses connections", metadata: ["reason": "\(lastProblem)"])
        }
        backoff.failed(startedAt: connection.startedAt, now: now)
        lose(connection, because: .broken)
    }
}

/// libpq's callback for notices; at file scope, so that it is of no actor.
private func ignoreNotice(_: UnsafeMutableRawPointer?, _: OpaquePointer?) {}
