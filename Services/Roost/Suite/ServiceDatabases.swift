import Foundation
import Logging
import Postgres

/// The roles and schemas of the services: each role can use its own schema and no other.
struct ServiceDatabases: Sendable {
    /// The connection URL of a user that may create databases and roles.
    let administrator: String
    let secrets: Secrets
    let logger: Logger

    func createDatabase(_ name: String) async throws {
        try await connected { database in
            let exists = try await database.one(
                "SELECT EXISTS (SELECT FROM pg_database WHERE datname = \(name)) AS found",
                as: { try $0.bool("found") }
            )
            if !exists {
                try await database.run("CREATE DATABASE \(unsafe: Self.quoted(name))")
            }
            // By default, every user may connect to these two.
            try await database.run("REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC")
        }
    }

    /// Creates the role and schema of each service and returns the connection URL of each service.
    ///
    /// Correct roles and schemas stay unchanged.
    func prepare() async throws -> [String: String] {
        try await connected { database in
            let name = try await database.one("SELECT current_database() AS name", as: { try $0.string("name") })
            try await database.run("REVOKE ALL ON DATABASE \(unsafe: Self.quoted(name)) FROM PUBLIC")
            try await database.run("REVOKE ALL ON SCHEMA public FROM PUBLIC")
            for program in SuiteProgram.all where program.hasDatabase {
                try await prepare(program, in: name, of: database)
            }
        }
        return try Dictionary(
            uniqueKeysWithValues: SuiteProgram.all.filter(\.hasDatabase).map { ($0.name, try url(of: $0)) }
        )
    }

    private func prepare(_ program: SuiteProgram, in name: String, of database: PostgresPool) async throws {
        let role = Self.quoted(program.role)
        let schema = Self.quoted(program.name)
        let exists = try await database.one(
            "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = \(program.role)) AS found",
            as: { try $0.bool("found") }
        )
        if !exists {
            try await database.run("CREATE ROLE \(unsafe: role)")
        }
        let password = secrets.values[program.passwordKey] ?? ""
        try await database.run(
            """
            ALTER ROLE \(unsafe: role) LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE
            PASSWORD '\(unsafe: password.replacing("'", with: "''"))'
            """
        )
        try await database.run("GRANT CONNECT, TEMPORARY ON DATABASE \(unsafe: Self.quoted(name)) TO \(unsafe: role)")
        try await database.run("GRANT \(unsafe: role) TO CURRENT_USER")
        try await database.run("CREATE SCHEMA IF NOT EXISTS \(unsafe: schema) AUTHORIZATION \(unsafe: role)")
        try await database.run("REVOKE ALL ON SCHEMA \(unsafe: schema) FROM PUBLIC")
        try await database.run(
            "ALTER ROLE \(unsafe: role) IN DATABASE \(unsafe: Self.quoted(name)) SET search_path = \(unsafe: schema)"
        )
    }

    private func url(of program: SuiteProgram) throws -> String {
        guard var parts = URLComponents(string: administrator), parts.host != nil else {
            throw Workspace.Problem("DATABASE_URL must have the form postgres://user:password@host:port/database")
        }
        parts.user = program.role
        parts.password = secrets.values[program.passwordKey]
        guard let url = parts.string else {
            throw Workspace.Problem("DATABASE_URL must have the form postgres://user:password@host:port/database")
        }
        return url
    }

    private func connected<T: Sendable>(_ body: (PostgresPool) async throws -> T) async throws -> T {
        var configuration = try PostgresConfiguration(url: administrator)
        configuration.applicationName = "roost"
        let pool = PostgresPool(configuration: configuration, logger: logger)
        do {
            let result = try await body(pool)
            await pool.shutdown()
            return result
        } catch {
            await pool.shutdown()
            throw error
        }
    }

    private static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
