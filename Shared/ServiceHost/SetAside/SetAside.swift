package import Foundation
import Locks
package import Logging
import Metrics
package import Postgres
import ServiceLifecycle
package import Wire

/// The handling of rows that cannot be decoded or processed, so that they do not block other rows of their worker.
///
/// A failed row stays in its table. It is retried after 1 s, then with doubled delays up to 5 minutes. After the last
/// attempt it is set aside until an operator retries or drops it (`roost admin set-aside`).
package struct SetAside: Sendable {
    /// The number of entries that are retried or dropped in one transaction.
    private static let batch = 500
    /// The time in seconds after which a retried row without another failure counts as processed.
    private static let retryRetention: TimeInterval = 3_600

    private let kinds: [SetAsideKind]
    private let database: PostgresPool
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Creates the handling of failed rows.
    ///
    /// - Parameters:
    ///   - kinds: the kinds of rows that the service's workers process.
    ///   - database: the service's database.
    ///   - logger: receives an entry for each row that is set aside.
    ///   - now: the service's clock.
    package init(
        _ kinds: [SetAsideKind],
        database: PostgresPool,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.kinds = kinds
        self.database = database
        self.logger = logger
        self.now = now
    }

    static let migration = Migration(name: "V0000_create_set_aside_rows", sql: PackageResources.set_aside_rows_sql)

    /// Counts an attempt for each row and schedules its retry or sets it aside.
    package func failed(_ rows: [FailedRow], of kind: SetAsideKind) async throws {
        guard let first = rows.first else { return }
        let moment = now()
        let failures = try await database.transaction { db in
            try await SetAsideStore(db: db).record(rows, of: kind, at: moment)
        }
        for row in failures where row.isSetAside {
            Counter(label: "roost_set_aside_total", dimensions: [("kind", kind.name), ("reason", row.reason)])
                .increment()
            logger.error(
                "row set aside",
                metadata: [
                    "kind": "\(kind.name)", "key": "\(row.key)", "set_aside": "\(row.id)", "reason": "\(row.reason)",
                    "detail": "\(row.detail)", "attempts": "\(row.attempts)",
                ]
            )
        }
        guard failures.contains(where: { !$0.isSetAside }) else { return }
        logger.warning(
            "rows could not be processed",
            metadata: [
                "kind": "\(kind.name)", "rows": "\(rows.count)", "key": "\(first.key)",
                "reason": "\(first.reason.rawValue)", "detail": "\(first.detail)",
            ]
        )
    }

    /// Processes rows one by one; a row that fails is retried later and does not affect the others.
    ///
    /// - Parameters:
    ///   - rows: the rows.
    ///   - kind: the kind of the rows.
    ///   - key: returns the primary key of a row.
    ///   - body: processes a row.
    /// - Throws: an error that is not caused by a row, such as an unavailable database.
    package func each<Row: Sendable>(
        _ rows: [Row],
        of kind: SetAsideKind,
        key: (Row) -> [String],
        _ body: (Row) async throws -> Void
    ) async throws {
        for row in rows {
            do {
                try await body(row)
            } catch {
                guard let failed = FailedRow(key(row), error) else { throw error }
                try await self.failed([failed], of: kind)
            }
        }
    }

    /// Processes rows one after another, each in its own transaction, until `next` returns nil.
    ///
    /// - Parameters:
    ///   - kind: the kind of the rows.
    ///   - key: returns the primary key of a row.
    ///   - next: claims the next row.
    ///   - body: processes a row.
    /// - Throws: an error that is not caused by a row, such as an unavailable database.
    package func drain<Row: Sendable>(
        _ kind: SetAsideKind,
        key: (Row) -> [String],
        next: @Sendable (PostgresTransaction) async throws -> Row?,
        _ body: @Sendable (Row, PostgresTransaction) async throws -> Void
    ) async throws {
        while true {
            let found = Lock<Row?>(nil)
            do {
                try await database.transaction { db in
                    let row = try await next(db)
                    found.withLock { $0 = row }
                    if let row { try await body(row, db) }
                }
                if found.withLock({ $0 }) == nil { return }
            } catch {
                guard let row = found.withLock({ $0 }), let failed = FailedRow(key(row), error) else { throw error }
                try await self.failed([failed], of: kind)
            }
        }
    }

    /// Deletes obsolete entries and updates the metric of rows that are set aside.
    func pruneAndCount() async throws {
        let store = SetAsideStore(db: database)
        let before = try await store.counts()
        let moment = now().addingTimeInterval(-Self.retryRetention)
        for kind in kinds where before[kind.name] != nil { try await store.prune(kind, retriedBefore: moment) }
        let counts = before.isEmpty ? before : try await store.counts()
        for name in Set(kinds.map(\.name)).union(before.keys) {
            Gauge(label: "roost_set_aside_rows", dimensions: [("kind", name)]).record(counts[name]?.setAside ?? 0)
        }
    }

    var background: any Service {
        PeriodicTask("set-aside cleanup", every: .seconds(30), logger: logger, pruneAndCount)
    }
}

// The operator's actions.
extension SetAside {
    package func list(before id: Int64?, limit: Int) async throws -> Page<SetAsideRow> {
        Page(try await SetAsideStore(db: database).list(before: id, limit: limit))
    }

    /// Returns an entry with the content of its row.
    ///
    /// - Throws: `row_not_found` if no entry has this id.
    package func show(_ id: Int64) async throws -> SetAsideRow {
        let store = SetAsideStore(db: database)
        guard var row = try await store.find(id) else {
            throw APIError(.notFound, "row_not_found", "no row with this id is set aside")
        }
        if let kind = kinds.first(where: { $0.name == row.kind }), let text = try await store.content(of: id, kind) {
            row.content = try WireJSON.decoder().decode(JSONValue.self, from: Data(text.utf8))
        }
        return row
    }

    /// Makes rows available to their workers immediately.
    ///
    /// Rows of a kind that this release does not know are skipped.
    ///
    /// - Parameter selection: the entries to retry.
    /// - Returns: the number of rows.
    /// - Throws: a `PostgresError`, or `missing_field` for an empty selection.
    package func retry(_ selection: SetAsideSelection) async throws -> SetAsideChange {
        try await change(selection) { ids, kind, db in
            guard let kind else { return 0 }
            try await SetAsideStore(db: db).retry(ids, of: kind, at: now())
            return ids.count
        }
    }

    /// Drops rows.
    ///
    /// For a kind that this release does not know, only the entry is deleted.
    ///
    /// - Parameter selection: the entries to drop.
    /// - Returns: the number of rows.
    /// - Throws: a `PostgresError`, or `missing_field` for an empty selection.
    package func drop(_ selection: SetAsideSelection) async throws -> SetAsideChange {
        try await change(selection) { ids, kind, db in
            let store = SetAsideStore(db: db)
            if let kind { try await store.drop(ids, of: kind) } else { try await store.delete(ids) }
            return ids.count
        }
    }

    private func change(
        _ selection: SetAsideSelection,
        _ change: @Sendable (_ ids: [Int64], SetAsideKind?, PostgresTransaction) async throws -> Int
    ) async throws -> SetAsideChange {
        guard selection.ids != nil || selection.kind != nil || selection.all == true else {
            throw APIError.missing("ids")
        }
        var (count, last, isOver) = (0, Int64(0), false)
        while !isOver {
            let after = last
            let (locked, changed) = try await database.transaction { db in
                let locked = try await SetAsideStore(db: db).lock(selection, after: after, limit: Self.batch)
                var changed = 0
                for (name, entries) in Dictionary(grouping: locked, by: \.kind) {
                    let kind = kinds.first { $0.name == name }
                    changed += try await change(entries.map(\.id), kind, db)
                }
                return (locked, changed)
            }
            count += changed
            last = locked.last?.id ?? last
            isOver = locked.count < Self.batch
        }
        return SetAsideChange(count: count)
    }
}
