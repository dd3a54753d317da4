public import Logging
public import ServiceLifecycle

/// Connections to one PostgreSQL server, and the four ways to use them.
///
/// | way | for | connections |
/// | --- | --- | --- |
/// | ``reads`` | short `SELECT`s of many callers | a few, shared by all and pipelined; read-only |
/// | ``execute(_:)`` | one statement that may write, wait or be slow | one of its own while it runs |
/// | ``transaction(isolation:_:)`` | several statements that belong together | one of its own while it runs |
/// | ``dedicatedConnection(statementTimeout:)`` | batches one after another, a round trip each | one of its own for good |
///
/// and ``listen(_:)`` for notifications. One thread serves all of a pool's connections without blocking. A pool starts
/// whether the server is there or not, finds it again by itself after a restart, and bounds every wait: a call that
/// cannot be served in time throws a ``PostgresError`` that is ``PostgresError/isUnavailable``.
///
/// A statement whose outcome is unknown is never repeated; one of ``reads`` is, when its connection is lost.
public final class PostgresPool: PostgresExecutor, Service {
    let engine: Engine
    private let configuration: PostgresConfiguration

    /// A pool that connects when it is started or first used.
    public init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        engine = Engine(configuration: configuration, logger: logger)
    }

    deinit {
        engine.stop()
    }

    /// Connects now rather than at the first use.
    public func start() {
        engine.start()
    }

    /// Keeps connections until a graceful shutdown, then drains and closes.
    public func run() async throws {
        start()
        // Cancelled without grace is a shutdown too.
        try? await gracefulShutdown()
        await shutdown()
    }

    /// Lets what is under way end, for as long as ``PostgresConfiguration/drainTimeout``, and closes; later calls throw.
    public func shutdown() async {
        await engine.shutdown()
    }

    /// The shared read-only connections.
    public var reads: PostgresReads { PostgresReads(pool: self) }

    /// Runs one statement on a connection of its own, committed when it returns.
    ///
    /// Cancelling the task stops the statement on the server if it is not too late: it may have been committed.
    public func execute(_ query: PostgresQuery) async throws -> PostgresResult {
        let segment = try Segment([query], timeout: configuration.statementTimeout)
        return try await engine.run(segment, on: .single)[0]
    }

    /// Asks the server whether it is there; for a readiness check.
    public func ping() async throws {
        _ = try await reads.execute("SELECT 1")
    }

    /// A connection of its own for batches of statements.
    ///
    /// - Parameters:
    ///   - statementTimeout: how long a statement of it may run, if not the configuration's.
    ///   - settings: of the server, for this connection alone (`plan_cache_mode`, …).
    /// - Returns: the lane, whose connection is closed when it is dropped.
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

    /// Notifications on these channels, over a connection of its own.
    public func listen(_ channels: [String]) -> PostgresListener {
        PostgresListener(pool: self, channels: channels)
    }
}

/// The connections that all reads of a pool share.
///
/// A statement here waits behind those sent before it, so nothing may run here that waits for a lock or takes long; the
/// server refuses writes (SQLSTATE 25006) and stops what exceeds ``PostgresConfiguration/readTimeout``.
/// Cancelling the task gives the caller back at once; the statement runs to its end unseen.
public struct PostgresReads: PostgresExecutor {
    let pool: PostgresPool

    public func execute(_ query: PostgresQuery) async throws -> PostgresResult {
        let segment = try Segment([query], timeout: pool.engine.configuration.readTimeout, purpose: .read)
        return try await pool.engine.run(segment, on: .reads)[0]
    }
}
