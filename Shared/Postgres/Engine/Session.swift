import DequeModule
import Synchronization

/// The use of a connection by a single owner: temporary for a transaction, permanent for a dedicated connection.
final class Session: @unchecked Sendable {
    // Unchecked: `kind` is constant, two properties are atomic, and only the engine thread uses the rest.

    enum Kind {
        case transaction(PostgresIsolation)
        /// Pipelined segments.
        case dedicatedConnection(statementTimeout: Duration, settings: [String: String])
        /// Scripts, sent outside pipeline mode.
        case script(options: [String: String])
    }

    let kind: Kind
    /// Whether any statement was submitted; a transaction without statements needs no commit.
    let isUsed = Atomic<Bool>(false)
    /// Whether the transaction failed with an error that a retry may avoid.
    let failedRetryably = Atomic<Bool>(false)

    // The engine thread's state.
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

    /// The statement that opens the transaction, sent together with the first statement.
    var opening: String {
        if case .transaction(let isolation) = kind { "BEGIN ISOLATION LEVEL \(isolation.rawValue)" } else { "BEGIN" }
    }
}
