import DequeModule
import Synchronization

/// A claim on a connection of its own: a transaction's for a while, a lane's for good.
final class Session: @unchecked Sendable {
    // Unchecked: `kind` is constant, the atomics are what they are, the rest is the engine thread's.

    enum Kind {
        case transaction(PostgresIsolation)
        /// Segments one after another, pipelined.
        case dedicatedConnection(statementTimeout: Duration, settings: [String: String])
        /// Scripts, out of pipeline mode.
        case script(options: [String: String])
    }

    let kind: Kind
    /// Whether a statement was ever asked for: a transaction without any has nothing to commit.
    let isUsed = Atomic<Bool>(false)
    /// Whether it failed in a way that a second run may not meet.
    let failedRetryably = Atomic<Bool>(false)

    // The engine thread's.
    var connection: Connection?
    var waiting: Deque<Segment> = []
    var isQueued = false
    var isBegun = false
    var isEnded = false
    var waitingUntil: Int64 = 0
    var failure: PostgresError?

    init(_ kind: Kind) {
        self.kind = kind
    }

    var isTransaction: Bool {
        if case .transaction = kind { true } else { false }
    }

    /// What opens the transaction, sent together with its first statement.
    var opening: String {
        if case .transaction(let isolation) = kind { "BEGIN ISOLATION LEVEL \(isolation.rawValue)" } else { "BEGIN" }
    }
}
