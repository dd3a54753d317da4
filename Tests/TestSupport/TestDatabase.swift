package import Foundation
import Logging
package import Postgres

/// A separate schema for one test in a real PostgreSQL, dropped at the end of the test.
package struct TestDatabase: Sendable {
    package let pool: PostgresPool
    package let configuration: PostgresConfiguration

    /// Returns the server's URL from `TEST_DATABASE_URL`, which `roost with-postgres` sets in `make test`.
    package static func url() throws -> String {
        guard let url = ProcessInfo.processInfo.environment["TEST_DATABASE_URL"] else {
            throw TestSupportError(
                "TEST_DATABASE_URL is not set: run the tests with `make test` or inside `roost with-postgres --`"
            )
        }
        guard
            ["127.0.0.1", "localhost", "[::1]", "%2F"].contains(where: {
                url.contains("@\($0)") || url.contains("//\($0)")
            })
        else {
            throw TestSupportError("tests create and drop schemas: TEST_DATABASE_URL must be a server on this machine")
        }
        return url
    }

    /// Creates a schema, runs the migrations in it, and passes `body` a pool that sees only this schema.
    package static func with<Value>(
        migrations: [Migration],
        connections: Int = 4,
        readSettings: [String: String] = [:],
        _ body: (TestDatabase) async throws -> Value
    ) async throws -> Value {
        try await semaphore.enter()
        defer { semaphore.leave() }
        var configuration = try PostgresConfiguration(url: try url())
        let schema = "test_\(UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: ""))"
        configuration.schema = schema
        configuration.name = "test"
        configuration.applicationName = schema
        configuration.readConnections = 1
        configuration.readSettings = readSettings
        configuration.transactionConnections = connections
        // A busy machine may stall for seconds. Tests of a timeout set their own.
        configuration.connectTimeout = .seconds(30)
        configuration.acquireTimeout = .seconds(30)
        configuration.readTimeout = .seconds(30)
        configuration.statementTimeout = .seconds(30)
        configuration.responseTimeout = .seconds(30)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await Migrator(configuration: configuration, schema: schema, logger: logger).migrate(migrations)
        let pool = PostgresPool(configuration: configuration, logger: logger)
        pool.start()
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body(TestDatabase(pool: pool, configuration: configuration)))
        } catch {
            outcome = .failure(error)
        }
        // `make test` deletes the server at the end, including schemas that could not be dropped.
        _ = try? await pool.execute("DROP SCHEMA \(unsafe: schema) CASCADE")
        await pool.shutdown()
        return try outcome.get()
    }

    /// Sets a request with an `Idempotency-Key` to the state after a process was killed before it stored the response.
    package func loseAnswer(to key: String, token: UUID) async throws {
        try await pool.run(
            """
            UPDATE idempotency_keys
            SET status = NULL, content_type = NULL, body = uuid_send(\(token)), begun_at = begun_at - interval '61 s'
            WHERE key = \(key)
            """
        )
    }

    /// Limits how many tests use a database concurrently, because more would only wait for connections.
    private static let semaphore = AsyncSemaphore(capacity: 8)
}

package struct TestSupportError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
