import Logging
import Postgres

/// Database connections of the operator's commands: few, with long timeouts.
enum OperatorDatabase {
    /// Returns a pool whose statements, and the pauses between them, may take up to `limit`.
    static func pool(_ url: String, limit: Duration, logger: Logger) throws -> PostgresPool {
        var configuration = try PostgresConfiguration(url: url)
        configuration.applicationName = "roost"
        configuration.readConnections = 0
        configuration.transactionConnections = 2
        configuration.statementTimeout = limit
        configuration.idleTransactionTimeout = limit
        configuration.acquireTimeout = .seconds(10)
        return PostgresPool(configuration: configuration, logger: logger)
    }

    static func connected<Value: Sendable>(
        _ url: String,
        limit: Duration = .seconds(60),
        logger: Logger,
        _ body: (PostgresPool) async throws -> Value
    ) async throws -> Value {
        let pool = try pool(url, limit: limit, logger: logger)
        do {
            let value = try await body(pool)
            await pool.shutdown()
            return value
        } catch {
            await pool.shutdown()
            throw error
        }
    }
}
