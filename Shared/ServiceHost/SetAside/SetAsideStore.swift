import Foundation
import Postgres
import Wire

/// The table `set_aside_rows`, and the columns of other tables that exclude its rows from claims.
struct SetAsideStore {
    let db: any PostgresExecutor

    /// A recorded failure.
    struct RecordedFailure: Sendable {
        var id: Int64
        var key: [String]
        var reason: String
        var detail: String
        var attempts: Int
        var isSetAside: Bool
    }

    /// Counts an attempt for each row and excludes the rows from claims until their retry.
    ///
    /// Two workers that process a row at the same time count as one attempt. A row that is set aside stays so.
    ///
    /// - Parameters:
    ///   - rows: the failed rows.
    ///   - kind: their kind.
    ///   - now: the service's clock.
    /// - Returns: the entries that were changed.
    /// - Throws: a `PostgresError`.
    func record(_ rows: [FailedRow], of kind: SetAsideKind, at now: Date) async throws -> [RecordedFailure] {
        let keys = try rows.map { String(decoding: try WireJSON.encoder().encode($0.key), as: UTF8.self) }
        let failures = try await db.all(
            """
            INSERT INTO set_aside_rows AS existing
                (kind, key, reason, detail, attempts, first_failed_at, last_failed_at, retry_at)
            SELECT DISTINCT ON (failed.key) \(kind.name), ARRAY(SELECT jsonb_array_elements_text(failed.key::jsonb)),
                   failed.reason, failed.detail, 1, \(clock: kind, now), \(clock: kind, now),
                   CASE WHEN \(limits: kind, "failed.reason") > 1 THEN \(clock: kind, now) + interval '1 second' END
            FROM unnest(\(keys), \(rows.map(\.reason.rawValue)), \(rows.map(\.detail)))
                AS failed (key, reason, detail)
            ORDER BY failed.key
            ON CONFLICT ON CONSTRAINT set_aside_rows_key DO UPDATE
            SET reason = excluded.reason, detail = excluded.detail, attempts = existing.attempts + 1,
                last_failed_at = excluded.last_failed_at,
                retry_at = CASE WHEN existing.attempts + 1 < \(limits: kind, "excluded.reason")
                    THEN excluded.last_failed_at + make_interval(secs => least(300, 2.0 ^ least(existing.attempts, 20)))
                END
            WHERE existing.retry_at <= excluded.last_failed_at
            RETURNING set_aside_id, key, reason, detail, attempts, retry_at IS NULL AS is_set_aside
            """
        ) { row in
            RecordedFailure(
                id: try row.int64("set_aside_id"),
                key: try row.strings("key"),
                reason: try row.string("reason"),
                detail: try row.string("detail"),
                attempts: try row.int("attempts"),
                isSetAside: try row.bool("is_set_aside")
            )
        }
        let until = kind.due.map { due in
            "\(due) = coalesce(\(kind.clock == .database ? "now()" : "s.last_failed_at") "
                + "+ (s.retry_at - s.last_failed_at), 'infinity')"
        }
        let assignments = [until, kind.postponing].compactMap(\.self).joined(separator: ", ")
        guard !assignments.isEmpty else { return failures }
        try await db.run(
            """
            UPDATE \(identifier: kind.table) AS t SET \(unsafe: assignments)
            FROM set_aside_rows AS s
            WHERE s.kind = \(kind.name) AND \(unsafe: kind.isNamed()) AND s.key IN (
                SELECT ARRAY(SELECT jsonb_array_elements_text(failed.key::jsonb)) FROM unnest(\(keys)) AS failed (key)
            )
            """
        )
        return failures
    }

    /// Returns the entries before `id`, the newest first.
    func list(before id: Int64?, limit: Int) async throws -> [SetAsideRow] {
        try await db.all(
            """
            SELECT \(unsafe: columns) FROM set_aside_rows WHERE set_aside_id < \(id ?? .max)
            ORDER BY set_aside_id DESC LIMIT \(limit)
            """,
            as: SetAsideRow.init(row:)
        )
    }

    func find(_ id: Int64) async throws -> SetAsideRow? {
        try await db.first(
            "SELECT \(unsafe: columns) FROM set_aside_rows WHERE set_aside_id = \(id)",
            as: SetAsideRow.init(row:)
        )
    }

    /// Returns the columns of an entry's row as JSON, or nil if the row was deleted.
    func content(of id: Int64, _ kind: SetAsideKind) async throws -> String? {
        try await db.first(
            """
            SELECT to_jsonb(t) - \(kind.hidden) AS content
            FROM set_aside_rows AS s JOIN \(identifier: kind.table) AS t ON \(unsafe: kind.isNamed())
            WHERE s.set_aside_id = \(id) AND s.kind = \(kind.name)
            """,
            as: { try $0.json("content") }
        )
    }

    /// Locks and returns the next entries of a selection; concurrent transactions wait.
    func lock(_ selection: SetAsideSelection, after id: Int64, limit: Int) async throws -> [(id: Int64, kind: String)] {
        try await db.all(
            """
            SELECT set_aside_id, kind FROM set_aside_rows
            WHERE set_aside_id > \(id) AND (\(selection.kind) IS NULL OR kind = \(selection.kind))
                AND (set_aside_id = ANY (\(selection.ids)) OR \(selection.ids) IS NULL AND retry_at IS NULL)
            ORDER BY set_aside_id LIMIT \(limit) FOR UPDATE
            """,
            as: { (id: try $0.int64("set_aside_id"), kind: try $0.string("kind")) }
        )
    }

    /// Makes rows available to their worker immediately and resets their attempts.
    func retry(_ ids: [Int64], of kind: SetAsideKind, at now: Date) async throws {
        if let due = kind.due {
            try await db.run(
                """
                UPDATE \(identifier: kind.table) AS t SET \(unsafe: due) = \(clock: kind, now)
                FROM set_aside_rows AS s
                WHERE s.kind = \(kind.name) AND s.set_aside_id = ANY (\(ids)) AND \(unsafe: kind.isNamed())
                """
            )
        }
        try await delete(ids)
    }

    func drop(_ ids: [Int64], of kind: SetAsideKind) async throws {
        let named: PostgresQuery = "s.kind = \(kind.name) AND s.set_aside_id = ANY (\(ids))"
        let condition = "\(named.sql) AND \(kind.isNamed())"
        let deletion = "DELETE FROM \(kind.table) AS t USING set_aside_rows AS s WHERE \(condition)"
        let sql: String? =
            switch kind.dropping {
            case .delete: deletion
            case .deleteThen(let next): "WITH gone AS (\(deletion) RETURNING t.*) \(next)"
            case .set(let assignments):
                "UPDATE \(kind.table) AS t SET \(assignments) FROM set_aside_rows AS s WHERE \(condition)"
            case .keep: nil
            }
        if let sql { try await db.run(PostgresQuery(sql: sql, parameters: named.parameters)) }
        try await delete(ids)
    }

    func delete(_ ids: [Int64]) async throws {
        try await db.run("DELETE FROM set_aside_rows WHERE set_aside_id = ANY (\(ids))")
    }

    /// Deletes entries whose row was deleted or needs no more work, and those without a failure since `moment`.
    func prune(_ kind: SetAsideKind, retriedBefore moment: Date) async throws {
        let pending = kind.pending.map { " AND \($0)" } ?? ""
        try await db.run(
            """
            DELETE FROM set_aside_rows AS s
            WHERE s.kind = \(kind.name) AND (s.retry_at < \(moment) OR NOT EXISTS (
                SELECT FROM \(identifier: kind.table) AS t WHERE \(unsafe: kind.isNamed() + pending)
            ))
            """
        )
    }

    /// Returns, by kind, the number of entries and how many of them are set aside.
    func counts() async throws -> [String: (all: Int, setAside: Int)] {
        let rows = try await db.all(
            """
            SELECT kind, count(*) AS entries, count(*) FILTER (WHERE retry_at IS NULL) AS set_aside
            FROM set_aside_rows GROUP BY kind
            """,
            as: { (try $0.string("kind"), (all: try $0.int("entries"), setAside: try $0.int("set_aside"))) }
        )
        return Dictionary(rows) { first, _ in first }
    }
}

private let columns =
    "set_aside_id, kind, key, reason, detail, attempts, first_failed_at, last_failed_at, retry_at"

extension SetAsideRow {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.int64("set_aside_id"),
            kind: try row.string("kind"),
            key: try row.strings("key"),
            reason: try row.string("reason"),
            detail: try row.string("detail"),
            attempts: try row.int("attempts"),
            firstFailedAt: try row.date("first_failed_at"),
            lastFailedAt: try row.date("last_failed_at"),
            retryAt: try row.optionalDate("retry_at")
        )
    }
}

extension PostgresQuery.StringInterpolation {
    /// Appends the time of the clock that the kind's claims use.
    fileprivate mutating func appendInterpolation(clock kind: SetAsideKind, _ now: Date) {
        switch kind.clock {
        case .service: appendInterpolation(now)
        case .database: appendLiteral("now()")
        }
    }

    /// Appends the maximum number of attempts for the reason in a column.
    fileprivate mutating func appendInterpolation(limits kind: SetAsideKind, _ reason: String) {
        let (unreadable, failing) = (FailedRow.Reason.unreadable, FailedRow.Reason.failing)
        appendLiteral("CASE \(reason) WHEN '\(unreadable.rawValue)' THEN ")
        appendInterpolation(kind.maximumAttempts ?? unreadable.maximumAttempts)
        appendLiteral(" ELSE ")
        appendInterpolation(kind.maximumAttempts ?? failing.maximumAttempts)
        appendLiteral(" END")
    }
}
