import Logging

/// A connection outside pipeline mode, which can run texts of several statements.
struct ScriptConnection: Sendable {
    private let engine: Engine
    private let session: Session
    private let timeout: Duration

    /// Opens a connection, passes it to `body`, and closes it.
    static func with<Value: Sendable>(
        _ configuration: PostgresConfiguration,
        timeout: Duration,
        logger: Logger,
        _ body: (ScriptConnection) async throws -> Value
    ) async throws -> Value {
        var configuration = configuration
        configuration.role = nil
        configuration.schema = nil
        configuration.readConnections = 0
        configuration.transactionConnections = 0
        configuration.acquireTimeout = min(timeout, .seconds(30))
        let engine = Engine(configuration: configuration, logger: logger)
        let options = [
            "statement_timeout": "\(timeout.serverMilliseconds)",
            "lock_timeout": "\(timeout.serverMilliseconds)",
            "idle_in_transaction_session_timeout": "\(timeout.serverMilliseconds)",
        ]
        let session = Session(.script(options: options))
        engine.open(session)
        do {
            let value = try await body(ScriptConnection(engine: engine, session: session, timeout: timeout))
            await engine.shutdown()
            return value
        } catch {
            engine.stop()
            throw error
        }
    }

    /// Runs a text of one or more statements.
    func script(_ sql: String) async throws {
        let segment = Segment(.script(sql), timeout: timeout.nanoseconds, purpose: .standalone)
        _ = try await engine.run(segment, on: .session(session))
    }

    func query(_ query: PostgresQuery) async throws -> PostgresResult {
        let results = try await engine.run(try Segment([query], timeout: timeout), on: .session(session))
        guard let result = results.last else {
            throw PostgresError(.unexpectedRowCount(0), "the server returned no result for the statement")
        }
        return result
    }

    func exists(_ query: PostgresQuery) async throws -> Bool {
        try await !self.query(query).isEmpty
    }

    /// Returns the id of the current transaction.
    func transactionID() async throws -> Int64 {
        try await query("SELECT txid_current() AS id")[0].int64("id")
    }
}
