import Foundation
import Logging
import Postgres

/// A snapshot of a database that stays open during a backup.
///
/// Row counts and `pg_dump` use the same moment, whatever is written meanwhile. No writer waits for the snapshot.
struct DatabaseSnapshot: Sendable {
    /// The snapshot id for `pg_dump --snapshot`.
    let id: String
    let serverVersion: Int
    private let transaction: PostgresTransaction

    /// Runs a body with a snapshot of a database; the snapshot reads only what the URL's user may read.
    static func with<Value: Sendable>(
        of url: String,
        limit: Duration,
        logger: Logger,
        _ body: nonisolated(nonsending) (DatabaseSnapshot) async throws -> Value
    ) async throws -> Value {
        let pool = try OperatorDatabase.pool(url, limit: limit, logger: logger)
        do {
            let value = try await pool.transaction(isolation: .repeatableRead) { transaction in
                let (id, version) = try await transaction.one(
                    "SELECT pg_export_snapshot() AS id, current_setting('server_version_num')::int8 AS version",
                    as: { (try $0.string("id"), try $0.int("version")) }
                )
                return try await body(
                    DatabaseSnapshot(id: id, serverVersion: version / 10_000, transaction: transaction)
                )
            }
            await pool.shutdown()
            return value
        } catch {
            await pool.shutdown()
            throw error
        }
    }

    func contents(of schema: String) async throws -> SchemaContents {
        try await SchemaContents.read(schema, on: transaction)
    }
}

struct SchemaContents: Hashable, Sendable {
    var tables: [String: Int]
    var migrations: [String: String]

    static func read(_ schema: String, on database: some PostgresExecutor) async throws -> SchemaContents {
        let names = try await database.all(
            """
            SELECT relname::text AS name FROM pg_class
            WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \(schema))
            """,
            as: { try $0.string("name") }
        )
        var contents = SchemaContents(tables: [:], migrations: [:])
        for name in names {
            contents.tables[name] = try await database.one(
                "SELECT count(*) AS rows FROM \(identifier: schema).\(identifier: name)",
                as: { try $0.int("rows") }
            )
        }
        if names.contains("schema_migrations") {
            let applied = try await database.all(
                "SELECT name, checksum FROM \(identifier: schema).schema_migrations",
                as: { (try $0.string("name"), try $0.string("checksum")) }
            )
            contents.migrations = Dictionary(applied, uniquingKeysWith: { first, _ in first })
        }
        return contents
    }

    func differences(from expected: BackedUpSchema) -> [String] {
        let names = Set(tables.keys).union(expected.tables.keys).sorted()
        let rows = names.compactMap { name -> String? in
            guard tables[name] != expected.tables[name] else {
                return nil
            }
            let (found, wanted) = (tables[name].map(String.init), expected.tables[name].map(String.init))
            return "\(expected.name).\(name) has \(found ?? "no") rows; the backup has \(wanted ?? "none")"
        }
        return migrations == expected.migrations
            ? rows : rows + ["\(expected.name) has different migrations from the backup"]
    }
}
