package import Foundation
package import Postgres
import Wire

/// A table whose rows a worker processes, and how failed rows are excluded from its claims.
///
/// In SQL fragments, the alias of the row is `t`.
package struct SetAsideKind: Sendable {
    /// The clock that the worker's claims compare with.
    package enum Clock: Sendable { case service, database }

    /// The effect of `drop` on the row.
    package enum Dropping: Sendable {
        case delete
        /// Deletes the row, then runs a statement that finds the deleted rows in `gone`.
        case deleteThen(String)
        /// Assigns to columns of the row, which stays.
        case set(String)
        /// Leaves the row unchanged.
        case keep
    }

    package let name: String
    package let table: String
    /// The primary key: columns and their SQL types.
    package let key: [(column: String, type: String)]
    package let due: String?
    let clock: Clock
    let postponing: String?
    package let pending: String?
    package let dropping: Dropping
    let hidden: [String]
    package let maximumAttempts: Int?

    /// Creates a kind.
    ///
    /// - Parameters:
    ///   - name: the kind's name for operators and metrics.
    ///   - table: the table of the rows.
    ///   - key: the columns of the primary key with their SQL types.
    ///   - due: the column with the time before which a row is not claimed; nil if the claim uses `\(isDue:at:)`.
    ///   - clock: the clock that the claim compares `due` with.
    ///   - postponing: further assignments while a row waits for its retry or is set aside.
    ///   - pending: a condition on the row; if it is false, the row needs no more work.
    ///   - dropping: the effect of `drop`.
    ///   - hidden: columns that `show` omits.
    ///   - maximumAttempts: the attempts after which a row is set aside; nil for the default.
    package init(
        _ name: String,
        table: String,
        key: KeyValuePairs<String, String>,
        due: String? = nil,
        clock: Clock = .service,
        postponing: String? = nil,
        pending: String? = nil,
        dropping: Dropping = .delete,
        hidden: [String] = [],
        maximumAttempts: Int? = nil
    ) {
        self.name = name
        self.table = table
        self.key = key.map { (column: $0.key, type: $0.value) }
        self.due = due
        self.clock = clock
        self.postponing = postponing
        self.pending = pending
        self.dropping = dropping
        self.hidden = hidden
        self.maximumAttempts = maximumAttempts
    }

    /// Returns the condition that a row is the one that `s`, a row of `set_aside_rows`, refers to.
    package func isNamed(_ row: String = "t") -> String {
        key.enumerated().map { "\(row).\($1.column) = (s.key[\($0 + 1)])::\($1.type)" }.joined(separator: " AND ")
    }
}

extension PostgresQuery.StringInterpolation {
    /// Appends the condition that a row of the kind's table neither waits for a retry nor is set aside.
    package mutating func appendInterpolation(isDue kind: SetAsideKind, at now: Date) {
        appendLiteral("NOT EXISTS (SELECT FROM set_aside_rows AS s WHERE s.kind = ")
        appendInterpolation(kind.name)
        appendLiteral(" AND (s.retry_at IS NULL OR s.retry_at > ")
        appendInterpolation(now)
        appendLiteral(") AND \(kind.isNamed(kind.table)))")
    }
}

/// A row that could not be decoded or processed.
package struct FailedRow: Sendable {
    package enum Reason: String, Sendable {
        /// A value is unknown to this release or violates a constraint.
        case unreadable
        case failing

        /// The maximum number of attempts.
        ///
        /// Unreadable rows are tried for 8 minutes, so that another release can claim them during a rolling update;
        /// failing rows for a day.
        var maximumAttempts: Int {
            switch self {
            case .unreadable: 10
            case .failing: 300
            }
        }
    }

    package let key: [String]
    package let reason: Reason
    package let detail: String

    package init(_ key: [String], _ reason: Reason, detail: String) {
        self.key = key
        self.reason = reason
        self.detail = detail
    }

    /// Creates the failure of a row that could not be decoded.
    package init(_ key: [String], unreadable error: any Error) {
        self.init(key, .unreadable, detail: Self.detail(error))
    }

    /// Creates the failure of a row that could not be processed; nil if the error is not caused by the row.
    ///
    /// Such errors are an unavailable database or service, and cancellation.
    package init?(_ key: [String], _ error: any Error) {
        switch error {
        case is CancellationError: return nil
        case let error as PostgresError where error.isUnavailable && !error.isRefusal: return nil
        case let error as APIError where error.isTransient: return nil
        default: self.init(key, Self.isUnreadable(error) ? .unreadable : .failing, detail: Self.detail(error))
        }
    }

    private static func isUnreadable(_ error: any Error) -> Bool {
        if let error = error as? PostgresError, case .decoding = error.kind { return true }
        return error is DecodingError || error is UnreadableRow
    }

    /// Returns a description of the error without values of the row.
    private static func detail(_ error: any Error) -> String {
        switch error {
        case let error as PostgresError: error.description
        case let error as UnreadableRow: error.description
        case let error as APIError: error.code
        case DecodingError.keyNotFound(let key, let context): "missing \(path(context.codingPath + [key]))"
        case DecodingError.valueNotFound(_, let context), DecodingError.typeMismatch(_, let context),
            DecodingError.dataCorrupted(let context):
            "unexpected JSON at \(path(context.codingPath))"
        default: "\(type(of: error))"
        }
    }

    private static func path(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "the root" : path.map(\.stringValue).joined(separator: ".")
    }
}

/// The error of a row with a value that this release does not know.
package struct UnreadableRow: Error, CustomStringConvertible {
    package let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - table: the row's table.
    ///   - problem: the problem, without text from users.
    package init(_ table: String, _ problem: String) {
        description = "\(table): \(problem)"
    }
}

extension Sequence where Element == PostgresRow {
    /// Decodes each row separately; a row that cannot be decoded does not affect the others.
    ///
    /// - Parameters:
    ///   - key: returns the primary key of a row.
    ///   - read: decodes a row.
    /// - Returns: the decoded values, and the rows that could not be decoded.
    /// - Throws: the error of `key`.
    package func decoded<Value>(
        key: (PostgresRow) throws -> [String],
        as read: (PostgresRow) throws -> Value
    ) throws -> (values: [Value], unreadable: [FailedRow]) {
        var (values, unreadable): ([Value], [FailedRow]) = ([], [])
        for row in self {
            do {
                values.append(try read(row))
            } catch {
                unreadable.append(FailedRow(try key(row), unreadable: error))
            }
        }
        return (values, unreadable)
    }
}
