public import Logging

/// Brings a schema to the state a program expects, once, however many processes start at a time.
///
/// What is applied stands in the schema's own table `schema_migrations`, by name and checksum. The work is done under an
/// advisory lock, each migration in a transaction together with its record: one that fails leaves nothing behind.
///
/// Migrations that are applied but unknown to the program are taken for those of a newer release if their names come
/// after all of its own: a program must be able to start again beside its successor. Anything else that does not fit
/// is refused.
public struct Migrator: Sendable {
    private let configuration: PostgresConfiguration
    private let schema: String
    private let timeout: Duration
    private let logger: Logger

    /// A migrator of one schema.
    ///
    /// With ``PostgresConfiguration/role`` set, that role is made if it is not there and the URL's user may make it, owns
    /// a schema that is made, and runs the migrations.
    ///
    /// - Parameters:
    ///   - configuration: the server, and the role if any.
    ///   - schema: the schema's name.
    ///   - timeout: how long to wait for another process that migrates, and for each migration.
    ///   - logger: told of each migration applied.
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

    /// Creates the schema if need be and applies, in the order of their names, the migrations it lacks.
    ///
    /// - Returns: the names of those applied now.
    /// - Throws: ``PostgresError``, of kind ``PostgresError/Kind/migration`` when an applied migration was edited or is
    ///   missing, when a new one sorts before an applied one, or when another process holds the lock for too long.
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

// The lock and the schema.
extension Migrator {
    /// What is locked: the making of roles and schemas for all, the migrating of a schema for itself.
    private enum Lock {
        case making, schema
    }

    /// The first half of the advisory locks' keys; the second is the schema's hash.
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
        if try await connection.holds("SELECT FROM pg_namespace WHERE nspname = \(schema)"), configuration.role == nil {
            return
        }
        try await lock(.making, on: connection)
        if let role = configuration.role { try await prepare(role: role, on: connection) }
        if try await !connection.holds("SELECT FROM pg_namespace WHERE nspname = \(schema)") {
            let owner = configuration.role.map { " AUTHORIZATION \(PostgresQuery.quoted(identifier: $0))" } ?? ""
            try await connection.script("CREATE SCHEMA \(PostgresQuery.quoted(identifier: schema))\(owner)")
        }
        _ = try await connection.query("SELECT pg_advisory_unlock(\(Self.lockClass), hashtext(''))")
    }

    private func prepare(role: String, on connection: ScriptConnection) async throws {
        let name = PostgresQuery.quoted(identifier: role)
        if try await !connection.holds("SELECT FROM pg_roles WHERE rolname = \(role)") {
            do {
                try await connection.script("CREATE ROLE \(name) NOLOGIN")
            } catch let error as PostgresError where ["42710", "23505"].contains(error.sqlState) {
                // Roles are the whole server's, the lock only this database's.
            }
        }
        if try await !connection.holds("SELECT WHERE pg_has_role(current_user, \(role), 'MEMBER')") {
            try await connection.script("GRANT \(name) TO CURRENT_USER")
        }
    }

    /// Puts the session back where every migration begins, whatever the last one set.
    private func enterSchema(on connection: ScriptConnection) async throws {
        if let role = configuration.role {
            try await connection.script("SET ROLE \(PostgresQuery.quoted(identifier: role))")
        }
        try await connection.script("SET search_path = \(PostgresQuery.quoted(identifier: schema))")
    }
}

// The migrations.
extension Migrator {
    static func ordered(_ migrations: [Migration]) throws -> [Migration] {
        let ordered = migrations.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        for (one, next) in zip(ordered, ordered.dropFirst()) where one.name == next.name {
            throw PostgresError(.migration, "two migrations are named \(one.name)")
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
        let known = Set(migrations.map(\.name))
        for migration in migrations {
            if let checksum = applied[migration.name], checksum != migration.checksum {
                throw refusal("migration \(migration.name) was edited after it was applied; write a new one instead")
            }
        }
        let newest = migrations.last?.name ?? ""
        for name in applied.keys.sorted() where !known.contains(name) {
            guard newest.utf8.lexicographicallyPrecedes(name.utf8) else {
                throw refusal("migration \(name) is applied, but the program does not have it")
            }
            logger.notice("a newer release has migrated the schema", metadata: ["migration": "\(name)"])
        }
        let pending = migrations.filter { applied[$0.name] == nil }
        if let first = pending.first,
            let later = applied.keys.filter({ first.name.utf8.lexicographicallyPrecedes($0.utf8) }).min()
        {
            throw refusal("migration \(first.name) comes before \(later), which is applied; give it a later name")
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
                throw refusal("migration \(migration.name) ends its transaction itself; leave out BEGIN and COMMIT")
            }
            try await enterSchema(on: connection)
            _ = try await connection.query(
                "INSERT INTO schema_migrations (name, checksum) VALUES (\(migration.name), \(migration.checksum))"
            )
            try await connection.script("COMMIT")
        } catch let error as PostgresError {
            // The connection is closed over it, which rolls back as well.
            try? await connection.script("ROLLBACK")
            throw PostgresError(error.kind, "migration \(migration.name): \(error.message)")
        }
        logger.info("migration applied", metadata: ["schema": "\(schema)", "migration": "\(migration.name)"])
    }

    private func refusal(_ problem: String) -> PostgresError {
        PostgresError(.migration, "schema \(schema): \(problem)")
    }
}
