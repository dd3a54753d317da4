import Configuration
import Foundation
import Logging
import Postgres

/// The setup of a service's database: role, schema and migrations; waits until the server is available.
enum Database {
    static func open<Service: SuiteService>(for _: Service.Type, boot: Boot) async throws -> PostgresPool {
        let name = Service.name
        var configuration = try PostgresConfiguration(url: try boot.configuration.secret("DATABASE_URL"))
        configuration.schema = name
        configuration.name = name
        configuration.applicationName = "roost-\(name)"
        configuration.readSettings = Service.readSettings
        configuration.transactionConnections = try boot.configuration.number(
            "DATABASE_CONNECTIONS",
            default: 8,
            in: 1...256
        )
        try await retrying(boot.logger) {
            configuration.role = try await role(for: name, configuration: configuration, logger: boot.logger)
            let migrator = Migrator(configuration: configuration, schema: name, logger: boot.logger)
            let applied = try await migrator.migrate(ServiceHost.migrations(of: Service.self))
            if !applied.isEmpty { boot.logger.info("migrated", metadata: ["applied": "\(applied)"]) }
        }
        let pool = PostgresPool(configuration: configuration, logger: boot.logger)
        pool.start()
        return pool
    }

    /// Retries with backoff (0.1 s, doubled up to 2 s) while the server is unavailable; other errors end the start.
    private static func retrying(_ logger: Logger, _ attempt: () async throws -> Void) async throws {
        var pause = Duration.milliseconds(100)
        while true {
            do {
                return try await attempt()
            } catch let error as PostgresError where error.isUnavailable {
                logger.warning("waiting for the database", metadata: ["error": "\(error)"])
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(2))
            }
        }
    }

    /// Returns the role to switch to if the URL's user is not specific to the service and may create roles; otherwise
    /// nil.
    ///
    /// The role only limits mistakes, because `SET ROLE none` leaves it. A separate URL for each service enforces the
    /// separation.
    private static func role(
        for name: String,
        configuration: PostgresConfiguration,
        logger: Logger
    ) async throws -> String? {
        let role = "roost_\(name)"
        var plain = configuration
        plain.schema = nil
        let pool = PostgresPool(configuration: plain, logger: logger)
        pool.start()
        do {
            let isGranted = try await grant(role, schema: name, on: pool)
            if isGranted {
                logger.notice("services share a database user", metadata: ["role": "\(role)"])
            }
            await pool.shutdown()
            return isGranted ? role : nil
        } catch {
            await pool.shutdown()
            throw error
        }
    }

    private static func grant(_ role: String, schema: String, on pool: PostgresPool) async throws -> Bool {
        let (user, mayCreate) = try await pool.one(
            """
            SELECT current_user::text AS name, rolsuper OR rolcreaterole AS may_create
            FROM pg_roles
            WHERE rolname = current_user
            """,
            as: { (try $0.string("name"), try $0.bool("may_create")) }
        )
        guard user != role, mayCreate else { return false }
        try await pool.transaction { db in
            // The lock makes instances that start at the same time create the role once.
            _ = try await db.execute("SELECT pg_advisory_xact_lock(hashtext('roost roles'))")
            _ = try await db.execute(
                """
                DO $$ BEGIN
                    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(unsafe: role)') THEN
                        CREATE ROLE \(unsafe: role) NOLOGIN;
                    END IF;
                END $$
                """
            )
            _ = try await db.execute("GRANT \(unsafe: role) TO CURRENT_USER")
            _ = try await db.execute("CREATE SCHEMA IF NOT EXISTS \(unsafe: schema) AUTHORIZATION \(unsafe: role)")
        }
        return true
    }
}
