/// A dedicated connection that runs batches of statements one after another.
///
/// PostgreSQL runs the statements of a ``segment(_:)`` as one implicit transaction, and the batch takes one round trip.
/// Each statement has its own snapshot: the second statement sees rows that were committed while the first waited for a
/// lock.
///
/// The connection opens in the background when ``PostgresPool/dedicatedConnection(statementTimeout:settings:)`` creates
/// the value, reconnects after a loss, and closes when the last reference is released.
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

    /// Runs statements in order as one transaction and returns their results in the same order.
    ///
    /// Several tasks may call this method at once. Their segments are pipelined in the order of the calls, and each
    /// segment is its own transaction. If the connection was lost earlier, the call waits for a new one.
    ///
    /// Cancelling the task stops the statement on the server unless the statement has already finished.
    ///
    /// - Parameter statements: the statements of one transaction; an empty array returns an empty array without a round
    ///   trip.
    /// - Returns: one result for each statement.
    /// - Throws: a ``PostgresError``, or `CancellationError`. A server error rolls back the whole segment. After a lost
    ///   connection, ``PostgresError/outcomeUnknown`` says whether the segment may have been committed.
    public func segment(_ statements: [PostgresQuery]) async throws -> [PostgresResult] {
        guard !statements.isEmpty else { return [] }
        let segment = try Segment(statements, timeout: statementTimeout)
        return try await pool.engine.run(segment, on: .session(session))
    }
}
