package import Foundation
import Logging
import Postgres
package import ServiceHost
import Wire

/// Tests the handling of a row that a worker cannot process, after the rows around it are processed.
///
/// The row must be retried, set aside, shown, retried by the operator, and dropped.
package struct PoisonTest: Sendable {
    private let kind: SetAsideKind
    private let database: TestDatabase
    private let setAside: SetAside

    package init(_ kind: SetAsideKind, in database: TestDatabase, now: @escaping @Sendable () -> Date = { Date() }) {
        self.kind = kind
        self.database = database
        setAside = database.setAside([kind], now: now)
    }

    /// Checks the handling of the only bad row.
    ///
    /// - Parameter round: runs the worker once; empty when the worker runs by itself.
    /// - Throws: `TestSupportError` with the first difference.
    package func check(_ round: () async throws -> Void = {}) async throws {
        let first = try await entry(after: round) { _ in true }
        guard first.reason == "unreadable" else { throw TestSupportError("\(first)") }
        let aside = try await exhausted(round)
        guard aside.attempts == kind.maximumAttempts ?? 10 else { throw TestSupportError("\(aside)") }
        guard let content = try await setAside.show(aside.id).content else {
            throw TestSupportError("the row has no content in `show`")
        }
        // A worker that wrongly claims the row would count an attempt.
        try await round()
        guard try await entries() == [aside] else { throw TestSupportError("\(try await entries()), not \(aside)") }

        guard try await setAside.retry(SetAsideSelection(ids: [aside.id])).count == 1 else {
            throw TestSupportError("the row was not retried")
        }
        let again = try await entry(after: round) { $0.id != aside.id }
        guard again.key == aside.key, again.attempts < aside.attempts || kind.maximumAttempts == 1 else {
            throw TestSupportError("\(again)")
        }
        guard case .delete = kind.dropping else { return try await checkDrop(leaves: content, round) }
        try await checkDrop(leaves: nil, round)
    }

    private func checkDrop(leaves content: JSONValue?, _ round: () async throws -> Void) async throws {
        let aside = try await exhausted(round)
        guard try await setAside.drop(SetAsideSelection(kind: kind.name)).count == 1 else {
            throw TestSupportError("the row was not dropped")
        }
        try await round()
        guard try await entries().isEmpty else { throw TestSupportError("\(try await entries())") }
        let pending = kind.pending.map { " AND \($0)" } ?? ""
        let left = try await database.pool.one(
            """
            SELECT count(*) AS n FROM \(identifier: kind.table) AS t, (SELECT \(aside.key) AS key) AS s
            WHERE \(unsafe: kind.isNamed() + pending)
            """,
            as: { try $0.int("n") }
        )
        guard left == 0 || content != nil && kind.pending == nil else {
            throw TestSupportError("the row is still there")
        }
    }

    /// Returns the entry once the row is set aside, and skips all attempts but the last.
    private func exhausted(_ round: () async throws -> Void) async throws -> SetAsideRow {
        try await database.pool.run(
            """
            UPDATE set_aside_rows SET attempts = \(Int64((kind.maximumAttempts ?? 10) - 1)), retry_at = last_failed_at
            WHERE kind = \(kind.name) AND retry_at IS NOT NULL
            """
        )
        if let due = kind.due {
            try await database.pool.run(
                """
                UPDATE \(identifier: kind.table) AS t SET \(unsafe: due) = '-infinity' FROM set_aside_rows AS s
                WHERE s.kind = \(kind.name) AND s.retry_at IS NOT NULL AND \(unsafe: kind.isNamed())
                """
            )
        }
        return try await entry(after: round) { $0.retryAt == nil }
    }

    private func entry(
        after round: () async throws -> Void,
        _ isExpected: (SetAsideRow) -> Bool
    ) async throws -> SetAsideRow {
        var found: SetAsideRow?
        try await eventually("noted") {
            try await round()
            let entries = try await entries()
            guard entries.count < 2 else { throw TestSupportError("other rows failed too: \(entries)") }
            found = entries.first.flatMap { isExpected($0) ? $0 : nil }
            return found != nil
        }
        guard let found else { throw TestSupportError("no row was noted") }
        return found
    }

    private func entries() async throws -> [SetAsideRow] {
        try await setAside.list(before: nil, limit: 100).items.filter { $0.kind == kind.name }
    }
}

extension TestDatabase {
    package func setAside(_ kinds: [SetAsideKind], now: @escaping @Sendable () -> Date = { Date() }) -> SetAside {
        SetAside(kinds, database: pool, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: now)
    }
}
