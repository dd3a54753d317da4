/// Why a statement has no answer.
///
/// Code that branches asks the three questions first: ``violates(_:)`` (a rule of the schema said no: answer it),
/// ``isUnavailable`` (nobody's fault here: 503) and ``outcomeUnknown`` (it may have been written: look before saying it
/// again). The description has no parameter and none of the server's detail, which quotes values of rows, so it may
/// go to a log.
public struct PostgresError: Error, Hashable, Sendable {
    /// What went wrong.
    public enum Kind: Hashable, Sendable {
        /// The server refused the statement, and rolled it back.
        case server(Report)

        /// The connection was lost; true when the statement may have been committed all the same.
        case connectionLost(outcomeUnknown: Bool)

        /// No connection could be made within the time allowed.
        case unavailable

        /// The time allowed ran out; true when the server did not say so itself, so it may have been committed.
        case timeout(outcomeUnknown: Bool)

        /// Every connection was busy for the time allowed, or too many callers were waiting already.
        case poolExhausted

        /// The pool is shutting down or has.
        case shuttingDown

        /// A parameter, by its number from 1, is a value PostgreSQL has no form for.
        case encoding(parameter: Int)

        /// A column is not what the code took it for.
        case decoding(column: String)

        /// An answer has another number of rows than asked for.
        case unexpectedRowCount(Int)

        /// `COMMIT` was answered by a rollback, since a statement had failed before.
        case transactionAborted

        /// The settings make no sense.
        case configuration

        /// The applied migrations and those of the program do not fit.
        case migration
    }

    /// What the server said about a statement it refused.
    public struct Report: Hashable, Sendable {
        /// The five characters that say what happened (`23505`).
        public var sqlState: String
        /// The sentence.
        public var message: String
        /// More of it; may quote values of rows.
        public var detail: String?
        /// What it suggests.
        public var hint: String?
        /// The constraint that was violated.
        public var constraint: String?
        /// The schema it is in.
        public var schema: String?
        /// The table it is on.
        public var table: String?
        /// The column it is about.
        public var column: String?
    }

    /// What went wrong.
    public let kind: Kind

    /// What went wrong, for a person.
    public let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension PostgresError {
    /// What the server said, where it was the server who refused.
    public var report: Report? {
        if case .server(let report) = kind { report } else { nil }
    }

    /// The five characters that say what the server refused (`23505`), where it did.
    public var sqlState: String? { report?.sqlState }

    /// Whether this constraint, by its name in the schema, said no.
    public func violates(_ constraint: String) -> Bool {
        report?.constraint == constraint
    }

    /// Whether the statement may have been committed though no answer came.
    public var outcomeUnknown: Bool {
        switch kind {
        case .connectionLost(let unknown), .timeout(let unknown): unknown
        default: false
        }
    }

    /// Whether the same call may be made again without doing anything twice.
    ///
    /// True where it was certainly rolled back or never sent, and another try can end otherwise.
    public var isRetryable: Bool {
        switch kind {
        case .server(let report): Self.retryableStates.contains(report.sqlState)
        case .connectionLost(let unknown), .timeout(let unknown): !unknown
        case .unavailable, .poolExhausted: true
        default: false
        }
    }

    /// Whether the database, not the statement, is the reason: what an HTTP server answers 503 to.
    public var isUnavailable: Bool {
        switch kind {
        case .connectionLost, .unavailable, .timeout, .poolExhausted, .shuttingDown: true
        // 08 connection, 53 insufficient resources, 57P operator intervention, 58 system error
        case .server(let report):
            ["08", "53", "58"].contains(report.sqlState.prefix(2)) || report.sqlState.hasPrefix("57P")
        default: false
        }
    }

    /// Whether the database is there and did nothing of what it was told: the statement is at fault, or what it is about.
    ///
    /// Of many things done together it may be one alone that is in the way.
    public var isRefusal: Bool {
        switch kind {
        case .server: !isUnavailable
        case .timeout(outcomeUnknown: false): true
        default: false
        }
    }

    /// Serialization failure and deadlock: rolled back for certain, and a second run may pass.
    static let retryableStates: Set<String> = ["40001", "40P01"]

    static func decoding(column: String, _ problem: String) -> PostgresError {
        PostgresError(.decoding(column: column), "column \(column) \(problem)")
    }

    static func server(_ report: Report) -> PostgresError {
        PostgresError(.server(report), report.message)
    }
}

extension PostgresError: CustomStringConvertible {
    /// One line without the server's detail.
    public var description: String {
        switch kind {
        case .server(let report):
            "\(message) (SQLSTATE \(report.sqlState)\(report.constraint.map { ", constraint \($0)" } ?? ""))"
        case .connectionLost(outcomeUnknown: true), .timeout(outcomeUnknown: true): "\(message) (outcome unknown)"
        default: message
        }
    }
}
