public import Logging
public import ServiceLifecycle

/// A pool of connections to one PostgreSQL server.
///
/// | method | use | connections |
/// | --- | --- | --- |
/// | ``reads`` | short `SELECT`s of many callers | a few, shared and pipelined; read-only |
/// | ``execute(_:)`` | one statement that may write, wait for locks or be slow | exclusive while the statement runs |
/// | ``transaction(isolation:_:)`` | several statements that commit together | exclusive while the transaction runs |
/// | ``dedicatedConnection(statementTimeout:settings:)`` | batches, one round trip each | exclusive, permanent |
/// | ``listen(_:)`` | notifications | exclusive while iterated |
///
/// One thread serves all connections of a pool without blocking. The pool starts even if the server is unavailable, and
/// it reconnects after a server restart. Each wait is bounded: a call that cannot be served in time throws a
/// ``PostgresError`` whose ``PostgresError/isUnavailable`` is true.
///
/// A statement with an unknown outcome is never repeated. A statement of ``reads`` is repeated when its connection is
/// lost.
public final class PostgresPool: PostgresExecutor, Service {
    let engine: Engine
    private let configuration: PostgresConfiguration

    /// Creates a pool, which connects when it is started or first used.
    ///
    /// - Parameters:
    ///   - configuration: the server's address and the pool's limits.
    ///   - logger: receives connection failures, losses and reconnects.
    public init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        engine = Engine(configuration: configuration, logger: logger)
    }

    deinit {
        engine.stop()
    }

    /// Opens the connections immediately instead of at the first use.
    public func start() {
        engine.start()
    }

    /// Runs the pool until graceful shutdown or cancellation, then calls ``shutdown()``.
    public func run() async throws {
        start()
        // A cancellation without graceful shutdown also ends the pool.
        try? await gracefulShutdown()
        await shutdown()
    }

    /// Waits for work in progress for at most ``PostgresConfiguration/drainTimeout``, then closes all connections.
    ///
    /// Later calls throw a ``PostgresError`` of kind ``PostgresError/Kind/shuttingDown``.
    public func shutdown() async {
        await engine.shutdown()
    }

    /// The read-only connections that all callers share.
    public var reads: PostgresReads { PostgresReads(pool: self) }

    /// Runs one statement on an exclusive connection; the statement is committed when the call returns.
    ///
    /// Cancelling the task stops the statement on the server unless it has already finished. The statement may
    /// therefore have been committed.
    ///
    /// - Parameter query: the statement and its parameters.
    /// - Returns: the rows and the number of affected rows.
    /// - Throws: a ``PostgresError``, or `CancellationError`.
    public func execute(_ query: PostgresQuery) async throws -> PostgresResult {
        let segment = try Segment([query], timeout: configuration.statementTimeout)
        return try await engine.run(segment, on: .single)[0]
    }

    /// Runs `SELECT 1` on a shared read connection; for readiness checks.
    public func ping() async throws {
        _ = try await reads.execute("SELECT 1")
    }

    /// Opens a dedicated connection for batches of statements.
    ///
    /// - Parameters:
    ///   - statementTimeout: the limit for each statement; nil is ``PostgresConfiguration/statementTimeout``.
    ///   - settings: server settings for this connection only (`plan_cache_mode`, …).
    /// - Returns: the connection, which closes when its last reference is released.
    public func dedicatedConnection(
        statementTimeout: Duration? = nil,
        settings: [String: String] = [:]
    ) -> DedicatedConnection {
        DedicatedConnection(
            pool: self,
            statementTimeout: statementTimeout ?? configuration.statementTimeout,
            settings: settings
        )
    }

    /// Returns the notifications of some channels, received on a dedicated connection.
    public func listen(_ channels: [String]) -> PostgresListener {
        PostgresListener(pool: self, channels: channels)
    }
}

/// The read-only connections that all callers of a pool share.
///
/// A statement waits for all statements sent before it on the same connection. Statements that wait for locks or run
/// long therefore do not belong here. The server rejects writes (SQLSTATE 25006) and cancels statements after
/// ``PostgresConfiguration/readTimeout``.
///
/// Cancelling the task returns to the caller immediately; the statement itself runs to its end and its result is
/// discarded.
public struct PostgresReads: PostgresExecutor {
    let pool: PostgresPool

    public func execute(_ query: PostgresQuery) async throws -> PostgresResult {
        let segment = try Segment([query], timeout: pool.engine.configuration.readTimeout, purpose: .read)
        return try await pool.engine.run(segment, on: .reads)[0]
    }
}
