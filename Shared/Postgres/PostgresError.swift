/// An error of a statement, a connection or a migration.
///
/// Callers usually check three properties:
/// - ``violates(_:)``: a constraint of the schema rejected the values; report it to the client.
/// - ``isUnavailable``: the database is unavailable or overloaded; an HTTP server responds with 503.
/// - ``outcomeUnknown``: the statement may have been committed; check before repeating it.
///
/// The description contains no parameters and no server detail, which may quote values of rows, so it is safe to log.
public struct PostgresError: Error, Hashable, Sendable {
    /// The cause of an error.
    public enum Kind: Hashable, Sendable {
        /// The server rejected the statement and rolled it back.
        case server(Report)

        /// The connection was lost; `outcomeUnknown` is true if the statement may have been committed.
        case connectionLost(outcomeUnknown: Bool)

        /// No connection could be opened within ``PostgresConfiguration/acquireTimeout``.
        case unavailable

        /// The time limit was exceeded; `outcomeUnknown` is true if the server did not confirm the cancellation.
        case timeout(outcomeUnknown: Bool)

        /// All connections were busy for the whole ``PostgresConfiguration/acquireTimeout``, or the limit of waiting
        /// calls was reached.
        case poolExhausted

        /// The pool is shutting down or has shut down.
        case shuttingDown

        /// A parameter, counted from 1, has a value that PostgreSQL cannot represent.
        case encoding(parameter: Int)

        /// A column is missing, is NULL, or has a different type than the code expects.
        case decoding(column: String)

        /// A result has a different number of rows than the call requires.
        case unexpectedRowCount(Int)

        /// `COMMIT` rolled the transaction back because a statement had failed.
        case transactionAborted

        /// The configuration is invalid.
        case configuration

        /// The applied migrations conflict with those of the program.
        case migration
    }

    /// The server's report about a rejected statement.
    ///
    /// Source: [Error and Notice Message Fields](https://www.postgresql.org/docs/current/protocol-error-fields.html).
    public struct Report: Hashable, Sendable {
        /// The five-character SQLSTATE code (`23505`).
        public var sqlState: String
        /// The primary message.
        public var message: String
        /// The secondary message; may quote values of rows.
        public var detail: String?
        /// A suggestion by the server.
        public var hint: String?
        /// The name of the violated constraint.
        public var constraint: String?
        /// The schema of the affected object.
        public var schema: String?
        /// The affected table.
        public var table: String?
        /// The affected column.
        public var column: String?
    }

    /// The cause of the error.
    public let kind: Kind

    /// A description of the error for operators, in one line.
    public let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension PostgresError {
    /// The server's report, if the server rejected the statement.
    public var report: Report? {
        if case .server(let report) = kind { report } else { nil }
    }

    /// The five-character SQLSTATE code (`23505`), if the server rejected the statement.
    public var sqlState: String? { report?.sqlState }

    /// Returns whether the statement violated the constraint with this name.
    public func violates(_ constraint: String) -> Bool {
        report?.constraint == constraint
    }

    /// Whether the statement may have been committed although no response arrived.
    public var outcomeUnknown: Bool {
        switch kind {
        case .connectionLost(let unknown), .timeout(let unknown): unknown
        default: false
        }
    }

    /// Whether the call can be repeated without a double effect.
    ///
    /// True if the statement was certainly rolled back or never sent, and a retry can succeed.
    public var isRetryable: Bool {
        switch kind {
        case .server(let report): Self.retryableStates.contains(report.sqlState)
        case .connectionLost(let unknown), .timeout(let unknown): !unknown
        case .unavailable, .poolExhausted: true
        default: false
        }
    }

    /// Whether the database, and not the statement, caused the error; an HTTP server responds with 503.
    public var isUnavailable: Bool {
        switch kind {
        case .connectionLost, .unavailable, .timeout, .poolExhausted, .shuttingDown: true
        // Classes: 08 connection, 53 insufficient resources, 57P operator intervention, 58 system error.
        case .server(let report):
            ["08", "53", "58"].contains(report.sqlState.prefix(2)) || report.sqlState.hasPrefix("57P")
        default: false
        }
    }

    /// Whether the database is available and certainly rolled the statement back; the statement or its data is the
    /// cause.
    ///
    /// If the statement processes several rows, a single row may be the cause.
    public var isRefusal: Bool {
        switch kind {
        case .server: !isUnavailable
        case .timeout(outcomeUnknown: false): true
        default: false
        }
    }

    /// The SQLSTATE codes of serialization failures and deadlocks: the server certainly rolled back, and a retry can
    /// succeed.
    static let retryableStates: Set<String> = ["40001", "40P01"]

    static func decoding(column: String, _ problem: String) -> PostgresError {
        PostgresError(.decoding(column: column), "column \(column) \(problem)")
    }

    static func server(_ report: Report) -> PostgresError {
        PostgresError(.server(report), report.message)
    }
}

extension PostgresError: CustomStringConvertible {
    /// The error in one line, without parameters, values of rows or the server's detail.
    public var description: String {
        switch kind {
        case .server(let report):
            "\(message) (SQLSTATE \(report.sqlState)\(report.constraint.map { ", constraint \($0)" } ?? ""))"
        case .connectionLost(outcomeUnknown: true), .timeout(outcomeUnknown: true): "\(message) (outcome unknown)"
        default: message
        }
    }
}
