import Foundation
import LocalPostgres
import Logging
import Postgres

struct Restore: Sendable {
    let backup: BackupFolder
    /// The target: the operator's database, or that of a private server.
    let databases: SuiteDatabase
    /// The administrator's connection URL for each schema, by schema name.
    let administrators: [String: String]
    let limit: Duration
    let logger: Logger
    let report: @Sendable (String) -> Void

    private var schemas: [BackedUpSchema] { backup.manifest.schemas }

    /// Restores every schema.
    ///
    /// - Parameters:
    ///   - replaces: whether existing tables are dropped; otherwise they prevent the restore.
    ///   - prepare: creates roles and empty schemas, and returns the connection URL of each service.
    /// - Throws: `Workspace.Problem`, which says whether anything was changed.
    func run(replaces: Bool, prepare: () async throws -> [String: String]) async throws {
        let program = try ArchiveTool.restore(
            writtenBy: schemas.map(\.programVersion).max() ?? 0,
            limit: limit
        )
        var filled: [String] = []
        for schema in schemas {
            filled += try await hasTables(schema) ? [schema.name] : []
        }
        guard filled.isEmpty || replaces else {
            throw Workspace.Problem(
                "the database has tables in \(filled.joined(separator: ", ")); restore into an empty "
                    + "database, or use --replace to drop them"
            )
        }
        do {
            for name in filled {
                try await drop(name)
            }
            let urls = try await prepare()
            for schema in schemas {
                try await restore(schema, into: urls[schema.name] ?? administrator(of: schema), by: program)
            }
            try await check()
        } catch {
            throw Workspace.Problem(
                "\(error)\nThe database is incomplete. Remove the cause, then restore again with --replace."
            )
        }
    }

    private func administrator(of schema: BackedUpSchema) throws -> String {
        guard let url = administrators[schema.name] else {
            throw Workspace.Problem("this release does not have the backup's service \(schema.name)")
        }
        return url
    }

    /// Returns whether the schema has tables.
    ///
    /// - Throws: `Workspace.Problem` when the server is too old or services use the database.
    private func hasTables(_ schema: BackedUpSchema) async throws -> Bool {
        try await OperatorDatabase.connected(try administrator(of: schema), logger: logger) { database in
            let (version, tables) = try await database.one(
                """
                SELECT current_setting('server_version_num')::int8 / 10000 AS version,
                    (SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                    WHERE nspname = \(schema.name)) AS tables
                """,
                as: { (try $0.int("version"), try $0.int("tables")) }
            )
            guard version >= schema.serverVersion else {
                throw Workspace.Problem(
                    "the backup is from PostgreSQL \(schema.serverVersion), and this server is \(version); "
                        + "restore into \(schema.serverVersion) or newer"
                )
            }
            let connected = try await database.all(
                """
                SELECT DISTINCT application_name AS name FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'roost-%'
                ORDER BY 1
                """,
                as: { try $0.string("name") }
            )
            guard connected.isEmpty else {
                throw Workspace.Problem(
                    "services use the database: \(connected.joined(separator: ", ")); stop them first"
                )
            }
            return tables > 0
        }
    }

    private func drop(_ name: String) async throws {
        report("dropping the schema \(name)")
        _ = try await OperatorDatabase.connected(administrators[name] ?? "", limit: limit, logger: logger) { database in
            try await database.run("DROP SCHEMA \(identifier: name) CASCADE")
        }
    }

    private func restore(_ schema: BackedUpSchema, into url: String, by program: ArchiveTool) async throws {
        try await OperatorDatabase.connected(url, limit: limit, logger: logger) { database in
            let exists = try await database.one(
                "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = \(schema.name)) AS found",
                as: { try $0.bool("found") }
            )
            if !exists {
                try await database.run("CREATE SCHEMA \(identifier: schema.name)")
            }
            try await program.restore(schema.name, from: backup.path(of: schema.archive.name), into: url)
            // With statistics, the planner knows the table sizes from the first query on.
            for table in schema.tables.keys.sorted() {
                try await database.run("ANALYZE \(identifier: schema.name).\(identifier: table)")
            }
        }
    }

    private func check() async throws {
        var differences: [String] = []
        for schema in schemas {
            let contents = try await OperatorDatabase.connected(
                try administrator(of: schema),
                limit: limit,
                logger: logger,
                { try await SchemaContents.read(schema.name, on: $0) }
            )
            differences += contents.differences(from: schema)
            report("\(schema.name): \(schema.rows) rows in \(schema.tables.count) tables")
        }
        guard differences.isEmpty else {
            let lines = differences.joined(separator: "\n")
            throw Workspace.Problem("the restored data differs from the backup:\n\(lines)")
        }
    }
}

extension Restore {
    /// Restores a backup into a temporary PostgreSQL server, to verify that the backup can be restored.
    static func restoreTemporarily(
        _ backup: BackupFolder,
        limit: Duration,
        logger: Logger,
        report: @escaping @Sendable (String) -> Void
    ) async throws {
        let server = try await PostgresServer.temporary(logger: logger)
        let result: Result<Void, any Error>
        do {
            let settings = SuiteSettings(given: [:], secrets: Secrets.ephemeral())
            let databases = SuiteDatabase(settings: settings, logger: logger)
            try await databases.createDatabase(on: server)
            let restore = Restore(
                backup: backup,
                databases: databases,
                administrators: try databases.administrators(on: server),
                limit: limit,
                logger: logger,
                report: report
            )
            try await restore.run(replaces: false) { try await databases.prepare(on: server, reporting: report) }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        // This task is not cancelled with the rest, so that nothing is left behind.
        await Task { await server.discard() }.value
        try result.get()
    }
}
