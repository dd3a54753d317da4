import CLibpq
import DequeModule
import Logging

/// One libpq connection, used by the engine's thread alone.
final class Connection {
    /// Whom it serves.
    enum Role {
        case reads
        case pooled
        case session(Session)
        case listener(Subscription)
    }

    enum Phase {
        /// A thread of its own looks up the host.
        case starting
        /// libpq shakes hands; true when it waits to write.
        case polling(writing: Bool)
        case ready
        case closed
    }

    let id: UInt64
    let role: Role
    let startedAt: Int64
    var phase = Phase.starting
    var handle: OpaquePointer?
    /// What was sent and not yet answered, oldest first; answers come in this order and no other.
    var inFlight: Deque<Segment> = []
    /// Since when the oldest has been the oldest: the server's last sign of life.
    var headSince: Int64 = 0
    var cache: StatementCache
    /// The transaction it is lent to.
    var session: Session?
    var isAssigned = false
    var idleSince: Int64 = 0
    /// Until when a cancel request may be on its way; nothing is sent meanwhile, lest it hits that.
    var cancellingUntil: Int64?
    var isWatchedForWriting = false
    /// Who waits for it to be rolled back.
    var onRelease: [() -> Void] = []
    /// Why it is no good any more, where the server or libpq said so.
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

    /// What libpq has to say, in one line.
    var problem: String {
        closingReason ?? Self.oneLine(PQerrorMessage(handle))
    }

    static func oneLine(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        return String(cString: text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Closes the socket; what was in flight is the caller's to answer for.
    func close() {
        phase = .closed
        if let handle { PQfinish(handle) }
        handle = nil
    }
}
