/// A connection of its own on which batches of statements follow one another.
///
/// The statements of a ``segment(_:)`` travel in one round trip and are one implicit transaction, in which each
/// statement has a fresh snapshot: the second sees what was committed while the first waited for a lock.
public final class DedicatedConnection: Sendable {
    private let pool: PostgresPool
    private let session: Session
    private let statementTimeout: Duration

    init(pool: PostgresPool, statementTimeout: Duration, settings: [String: String]) {
        self.pool = pool
        self.statementTimeout = statementTimeout
        session = Session(.dedicatedConnection(statementTimeout: statementTimeout, settings: settings))
        pool.engine.open(session)
    }

    deinit {
        pool.engine.close(session)
    }

    /// Runs statements in order, committed together when it returns; connects again if the connection was lost before.
    ///
    /// Several callers may use a lane at once: their segments are sent without waiting for one another's answers, in
    /// the order they came, each its own transaction.
    ///
    /// - Throws: a ``PostgresError``. After a server's error all of the segment is rolled back. When the connection was
    ///   lost, ``PostgresError/outcomeUnknown`` tells whether the segment may have been committed. Cancelling the task
    ///   stops the statement on the server if it is not too late.
    public func segment(_ statements: [PostgresQuery]) async throws -> [PostgresResult] {
        guard !statements.isEmpty else { return [] }
        let segment = try Segment(statements, timeout: statementTimeout)
        return try await pool.engine.run(segment, on: .session(session))
    }
}
