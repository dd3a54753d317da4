import Foundation
import LocalPostgres
import Logging
import Postgres

/// Brings a backup back and sees whether all of it is there.
struct Restore: Sendable {
    let backup: BackupFolder
    /// The database it goes into: the operator's, or one of a private server's.
    let databases: SuiteDatabase
    /// As whom each schema is looked after, by its name.
    let administrators: [String: String]
    /// How long one step may take.
    let limit: Duration
    let logger: Logger
    let report: @Sendable (String) -> Void

    private var schemas: [BackedUpSchema] { backup.manifest.schemas }

    /// Restores every schema.
    ///
    /// - Parameters:
    ///   - replaces: whether what is there is dropped; otherwise it is a reason not to begin.
    ///   - prepare: makes roles and empty schemas, and answers as whom each service connects.
    /// - Throws: `Workspace.Problem`, which says whether anything was changed.
    func run(replaces: Bool, prepare: () async throws -> [String: String]) async throws {
        let program = try ArchiveTool.restore(
            writtenBy: schemas.map(\.programVersion).max() ?? 0,
            limit: limit
        )
        var filled: [String] = []
        for schema in schemas {
            filled += try await isFilled(schema) ? [schema.name] : []
        }
        guard filled.isEmpty || replaces else {
            throw Workspace.Problem(
                "the database has tables in \(filled.joined(separator: ", ")): restore into an empty one, "
                    + "or say --replace to drop what is there"
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
                "\(error)\nThe database is incomplete. When the cause is gone, restore again with --replace."
            )
        }
    }

    private func administrator(of schema: BackedUpSchema) throws -> String {
        guard let url = administrators[schema.name] else {
            throw Workspace.Problem("the backup has a service that this release does not know: \(schema.name)")
        }
        return url
    }

    /// Whether there are tables in the way; throws where nothing may be restored at all.
    private func isFilled(_ schema: BackedUpSchema) async throws -> Bool {
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
                    "the backup is of PostgreSQL \(schema.serverVersion) and the server here is \(version): "
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
                    "services use the database: \(connected.joined(separator: ", ")). Stop them first"
                )
            }
            return tables > 0
        }
    }

    private func drop(_ name: String) async throws {
        report("dropping what \(name) has")
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
            // The first queries should not have to guess how big tables are.
            for table in schema.tables.keys.sorted() {
                try await database.run("ANALYZE \(identifier: schema.name).\(identifier: table)")
            }
        }
    }

    /// Counts what is there now.
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
            throw Workspace.Problem("what was restored is not what the backup has:\n\(lines)")
        }
    }
}

extension Restore {
    /// Restores a backup into a PostgreSQL of its own that is gone afterwards, to see that it can be done.
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
        // Not interrupted with the rest: nothing is to be left behind.
        await Task { await server.discard() }.value
        try result.get()
    }
}
