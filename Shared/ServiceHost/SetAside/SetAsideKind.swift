package import Foundation
package import Postgres
import Wire

/// A table whose rows a worker processes, and how a row that it cannot process is kept out of its claims.
///
/// SQL fragments call the row `t`.
package struct SetAsideKind: Sendable {
    /// The clock that the worker's claims compare with.
    package enum Clock: Sendable { case service, database }

    /// What `drop` does with the row.
    package enum Dropping: Sendable {
        case delete
        /// A statement that follows the deletion and finds the deleted rows in `gone`.
        case deleteThen(String)
        /// Assignments to columns of the row, which stays.
        case set(String)
        /// The row stays as it is.
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

    /// - Parameters:
    ///   - name: the noun that the operator and the metrics know these rows by.
    ///   - table: where the rows are.
    ///   - key: the columns of the primary key with their SQL types.
    ///   - due: the column with the time before which a row is not claimed; nil where the claim has `\(isDue:at:)`.
    ///   - clock: what the claim compares `due` with.
    ///   - postponing: further assignments while a row waits for its retry or is set aside.
    ///   - pending: a condition on the row, without which there is nothing left to do for it.
    ///   - dropping: what `drop` does.
    ///   - hidden: columns that `show` leaves out.
    ///   - maximumAttempts: the attempts after which a row is set aside; nil for the usual number.
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

    /// The condition that a row is the one that `s`, a row of `set_aside_rows`, names.
    package func isNamed(_ row: String = "t") -> String {
        key.enumerated().map { "\(row).\($1.column) = (s.key[\($0 + 1)])::\($1.type)" }.joined(separator: " AND ")
    }
}

extension PostgresQuery.StringInterpolation {
    /// A condition on a row of the kind's table: it waits for no retry, and is not set aside.
    package mutating func appendInterpolation(isDue kind: SetAsideKind, at now: Date) {
        appendLiteral("NOT EXISTS (SELECT FROM set_aside_rows AS s WHERE s.kind = ")
        appendInterpolation(kind.name)
        appendLiteral(" AND (s.retry_at IS NULL OR s.retry_at > ")
        appendInterpolation(now)
        appendLiteral(") AND \(kind.isNamed(kind.table)))")
    }
}

/// A row that could not be read or processed.
package struct FailedRow: Sendable {
    package enum Reason: String, Sendable {
        /// A value that this release does not know, or a value that breaks a rule.
        case unreadable
        case failing

        /// How often a row is tried: unreadable ones for 8 minutes, so that another release has the time to claim them
        /// during a rolling update; failing ones for a day.
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

    /// A row that could not be decoded.
    package init(_ key: [String], unreadable error: any Error) {
        self.init(key, .unreadable, detail: Self.detail(error))
    }

    /// A row that could not be processed; nil where the error says nothing about the row: the database or another service
    /// is unavailable, or the task was cancelled.
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

    /// What went wrong, without values of the row.
    private static func detail(_ error: any Error) -> String {
        switch error {
        case let error as PostgresError: error.description
        case let error as UnreadableRow: error.description
        case let error as APIError: error.code
        case DecodingError.keyNotFound(let key, let context): "no \(path(context.codingPath + [key]))"
        case DecodingError.valueNotFound(_, let context), DecodingError.typeMismatch(_, let context),
            DecodingError.dataCorrupted(let context):
            "JSON is not as expected at \(path(context.codingPath))"
        default: "\(type(of: error))"
        }
    }

    private static func path(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "its root" : path.map(\.stringValue).joined(separator: ".")
    }
}

/// A row holds a value that this release does not know.
package struct UnreadableRow: Error, CustomStringConvertible {
    package let description: String

    /// - Parameters:
    ///   - table: the row's table.
    ///   - problem: what is wrong, without what a person wrote.
    package init(_ table: String, _ problem: String) {
        description = "\(table): \(problem)"
    }
}

extension Sequence where Element == PostgresRow {
    /// Decodes each row by itself: a row that cannot be decoded fails no other row.
    ///
    /// - Throws: what `key` throws.
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
