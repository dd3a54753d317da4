public import Logging

/// Applies a program's migrations to a schema, exactly once, even if several processes start at the same time.
///
/// The schema's table `schema_migrations` records the name and checksum of each applied migration. The work runs under
/// an advisory lock. Each migration and its record are written in one transaction, so a failed migration leaves no
/// changes.
///
/// Applied migrations that the program does not have are accepted if their names sort after all of its own. They belong
/// to a newer release, and the previous release must still be able to start. All other differences are errors.
public struct Migrator: Sendable {
    private let configuration: PostgresConfiguration
    private let schema: String
    private let timeout: Duration
    private let logger: Logger

    /// Creates a migrator for one schema.
    ///
    /// If ``PostgresConfiguration/role`` is set, the role runs the migrations and owns a newly created schema. The role
    /// is created if it does not exist and the URL's user is allowed to create roles.
    ///
    /// - Parameters:
    ///   - configuration: the server's address, and optionally the role.
    ///   - schema: the schema's name.
    ///   - timeout: the limit for each migration and for the wait for another process that is migrating.
    ///   - logger: receives an entry for each applied migration.
    public init(
        configuration: PostgresConfiguration,
        schema: String,
        timeout: Duration = .seconds(300),
        logger: Logger
    ) {
        self.configuration = configuration
        self.schema = schema
        self.timeout = timeout
        self.logger = logger
    }

    /// Creates the schema if necessary and applies the missing migrations in the order of their names.
    ///
    /// - Parameter migrations: all migrations of the program, in any order.
    /// - Returns: the names of the migrations that this call applied.
    /// - Throws: a ``PostgresError``. Its kind is ``PostgresError/Kind/migration`` in these cases: an applied migration
    ///   was edited or is missing; a new one sorts before an applied one; another process holds the lock longer than
    ///   the timeout; a file is not UTF-8 text or ends the transaction.
    @discardableResult
    public func migrate(_ migrations: [Migration]) async throws -> [String] {
        let migrations = try Self.ordered(migrations)
        return try await ScriptConnection.with(configuration, timeout: timeout, logger: logger) { connection in
            try await prepareSchema(on: connection)
            try await lock(.schema, on: connection)
            try await enterSchema(on: connection)
            try await connection.script(
                """
                CREATE TABLE IF NOT EXISTS schema_migrations (
                    name text PRIMARY KEY,
                    checksum text NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                )
                """
            )
            let pending = try await pending(of: migrations, on: connection)
            for migration in pending { try await apply(migration, on: connection) }
            return pending.map(\.name)
        }
    }
}

extension Migrator {
    /// The scope of an advisory lock: `creation` covers all roles and schemas of the database, `schema` covers one
    /// schema.
    private enum Lock {
        case creation, schema
    }

    /// The first half of an advisory lock's key; the second half is the hash of the schema's name.
    private static let lockClass: Int32 = 0x5047_4D47

    private func lock(_ lock: Lock, on connection: ScriptConnection) async throws {
        let name = lock == .schema ? schema : ""
        do {
            _ = try await connection.query("SELECT pg_advisory_lock(\(Self.lockClass), hashtext(\(name)))")
        } catch let error as PostgresError where error.sqlState == "55P03" {
            let message = "another process has been migrating schema \(schema) for over \(timeout)"
            throw PostgresError(.migration, message)
        }
    }

    private func prepareSchema(on connection: ScriptConnection) async throws {
        if try await connection.exists("SELECT FROM pg_namespace WHERE nspname = \(schema)"),
            configuration.role == nil
        {
            return
        }
        try await lock(.creation, on: connection)
        if let role = configuration.role { try await prepare(role: role, on: connection) }
        if try await !connection.exists("SELECT FROM pg_namespace WHERE nspname = \(schema)") {
            let owner = configuration.role.map { " AUTHORIZATION \(PostgresQuery.quoted(identifier: $0))" } ?? ""
            try await connection.script("CREATE SCHEMA \(PostgresQuery.quoted(identifier: schema))\(owner)")
        }
        _ = try await connection.query("SELECT pg_advisory_unlock(\(Self.lockClass), hashtext(''))")
    }

    private func prepare(role: String, on connection: ScriptConnection) async throws {
        let name = PostgresQuery.quoted(identifier: role)
        if try await !connection.exists("SELECT FROM pg_roles WHERE rolname = \(role)") {
            do {
                try await connection.script("CREATE ROLE \(name) NOLOGIN")
            } catch let error as PostgresError where ["42710", "23505"].contains(error.sqlState) {
                // Roles belong to the whole server, but the lock covers only this database.
            }
        }
        if try await !connection.exists("SELECT WHERE pg_has_role(current_user, \(role), 'MEMBER')") {
            try await connection.script("GRANT \(name) TO CURRENT_USER")
        }
    }

    /// Resets the session's role and search path, which a migration may have changed.
    private func enterSchema(on connection: ScriptConnection) async throws {
        if let role = configuration.role {
            try await connection.script("SET ROLE \(PostgresQuery.quoted(identifier: role))")
        }
        try await connection.script("SET search_path = \(PostgresQuery.quoted(identifier: schema))")
    }
}

extension Migrator {
    static func ordered(_ migrations: [Migration]) throws -> [Migration] {
        let ordered = migrations.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        for (previous, next) in zip(ordered, ordered.dropFirst()) where previous.name == next.name {
            throw PostgresError(.migration, "two migrations are named \(previous.name)")
        }
        for migration in ordered
        where migration.sql.contains(0) || String(validating: migration.sql, as: UTF8.self) == nil {
            throw PostgresError(.migration, "migration \(migration.name) is not UTF-8 text")
        }
        return ordered
    }

    private func pending(of migrations: [Migration], on connection: ScriptConnection) async throws -> [Migration] {
        var applied: [String: String] = [:]
        for row in try await connection.query("SELECT name, checksum FROM schema_migrations") {
            applied[try row.string("name")] = try row.string("checksum")
        }
        let expected = Set(migrations.map(\.name))
        for migration in migrations {
            if let checksum = applied[migration.name], checksum != migration.checksum {
                throw failure("migration \(migration.name) was edited after it was applied; write a new one instead")
            }
        }
        let newest = migrations.last?.name ?? ""
        for name in applied.keys.sorted() where !expected.contains(name) {
            guard newest.utf8.lexicographicallyPrecedes(name.utf8) else {
                throw failure("migration \(name) is applied, but the program does not contain it")
            }
            logger.notice("a newer release has migrated the schema", metadata: ["migration": "\(name)"])
        }
        let pending = migrations.filter { applied[$0.name] == nil }
        if let first = pending.first,
            let later = applied.keys.filter({ first.name.utf8.lexicographicallyPrecedes($0.utf8) }).min()
        {
            throw failure("migration \(first.name) sorts before \(later), which is applied; give it a later name")
        }
        return pending
    }

    private func apply(_ migration: Migration, on connection: ScriptConnection) async throws {
        try await enterSchema(on: connection)
        try await connection.script("BEGIN")
        do {
            let before = try await connection.transactionID()
            try await connection.script(String(decoding: migration.sql, as: UTF8.self))
            guard try await connection.transactionID() == before else {
                throw failure("migration \(migration.name) ends its transaction; remove BEGIN and COMMIT")
            }
            try await enterSchema(on: connection)
            _ = try await connection.query(
                "INSERT INTO schema_migrations (name, checksum) VALUES (\(migration.name), \(migration.checksum))"
            )
            try await connection.script("COMMIT")
        } catch let error as PostgresError {
            // Closing the connection after the error also rolls back.
            try? await connection.script("ROLLBACK")
            throw PostgresError(error.kind, "migration \(migration.name): \(error.message)")
        }
        logger.info("migration applied", metadata: ["schema": "\(schema)", "migration": "\(migration.name)"])
    }

    private func failure(_ problem: String) -> PostgresError {
        PostgresError(.migration, "schema \(schema): \(problem)")
    }
}
