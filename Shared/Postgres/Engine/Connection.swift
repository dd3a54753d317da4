import CLibpq
import DequeModule
import Logging

/// A libpq connection, used only by the engine's thread.
final class Connection {
    /// The use that a connection was opened for.
    enum Role {
        case reads
        case pooled
        case session(Session)
        case listener(Subscription)
    }

    enum Phase {
        /// A background thread resolves the host name.
        case starting
        /// libpq performs the handshake; `writing` is true while it waits for the socket to become writable.
        case polling(writing: Bool)
        case ready
        case closed
    }

    let id: UInt64
    let role: Role
    let startedAt: Int64
    var phase = Phase.starting
    var handle: OpaquePointer?
    /// The segments that were sent and have no response yet, oldest first; responses arrive in this order.
    var inFlight: Deque<Segment> = []
    /// The time at which the oldest segment became the oldest: the last response from the server.
    var headSince: Int64 = 0
    var cache: StatementCache
    /// The transaction that uses the connection.
    var session: Session?
    var isAssigned = false
    var idleSince: Int64 = 0
    /// The latest time until which a cancel request may be in transit; nothing is sent meanwhile, so that the request
    /// cannot cancel another statement.
    var cancellingUntil: Int64?
    var isWatchedForWriting = false
    /// Callbacks to run after the connection's open transaction is rolled back.
    var onRelease: [() -> Void] = []
    /// The reason why the connection is unusable, if the server or libpq reported one.
    var closingReason: String?

    init(id: UInt64, role: Role, now: Int64, preparedStatements: Int) {
        self.id = id
        self.role = role
        startedAt = now
        cache = StatementCache(capacity: preparedStatements)
    }

    deinit {
        if let handle { PQfinish(handle) }
    }

    var isReady: Bool {
        if case .ready = phase { true } else { false }
    }

    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    var isPipelined: Bool {
        if case .session(let session) = role, case .script = session.kind { false } else { true }
    }

    var isReads: Bool {
        if case .reads = role { true } else { false }
    }

    var isPooled: Bool {
        if case .pooled = role { true } else { false }
    }

    var isCancelling: Bool { cancellingUntil != nil }

    var socket: Int32 { PQsocket(handle) }

    /// The last error message of the connection, in one line.
    var problem: String {
        closingReason ?? Self.oneLine(PQerrorMessage(handle))
    }

    static func oneLine(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        return String(cString: text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Closes the socket; the caller finishes the segments in flight.
    func close() {
        phase = .closed
        if let handle { PQfinish(handle) }
        handle = nil
    }
}
