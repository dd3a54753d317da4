import Locks
import Synchronization

/// The isolation level of a transaction.
public enum PostgresIsolation: String, Sendable {
    /// Each statement sees the rows that were committed before the statement began.
    case readCommitted = "READ COMMITTED"
    /// All statements see the rows that were committed before the first statement.
    case repeatableRead = "REPEATABLE READ"
    /// Transactions behave as if they ran one after another.
    case serializable = "SERIALIZABLE"
}

/// A running transaction, whose statements are committed together or not at all.
///
/// The value is valid only inside the closure of ``PostgresPool/transaction(isolation:_:)``. After a statement has
/// failed, all later statements fail too (SQLSTATE 25P02). The transaction is then rolled back even if the closure
/// returns normally.
public final class PostgresTransaction: PostgresExecutor {
    private let engine: Engine
    private let session: Session
    private let actions = Lock([@Sendable () -> Void]())

    init(engine: Engine, isolation: PostgresIsolation) {
        self.engine = engine
        session = Session(.transaction(isolation))
    }

    public func execute(_ query: PostgresQuery) async throws -> PostgresResult {
        let segment = try Segment([query], timeout: engine.configuration.statementTimeout, purpose: .transaction)
        return try await engine.run(segment, on: .session(session))[0]
    }

    /// Registers an action that runs after the commit, before ``PostgresPool/transaction(isolation:_:)`` returns.
    ///
    /// The action does not run if the transaction is rolled back or the connection is lost during the commit.
    ///
    /// - Parameter action: runs on the caller's task, in the order of registration.
    public func onCommit(_ action: @escaping @Sendable () -> Void) {
        actions.withLock { $0.append(action) }
    }

    /// Commits the transaction; ignores task cancellation, because an interrupted commit would have an unknown outcome.
    func commit() async throws {
        try await engine.commit(session)
        for action in actions.withLock(\.self) { action() }
    }

    func rollback() async {
        await engine.rollback(session)
    }

    /// Returns whether a retry of the transaction may avoid the error.
    func isRetryable(after error: any Error) -> Bool {
        if session.failedRetryably.load(ordering: .relaxed) { return true }
        guard let state = (error as? PostgresError)?.sqlState else { return false }
        return PostgresError.retryableStates.contains(state)
    }
}

extension PostgresPool {
    /// The number of attempts before a serialization failure or deadlock is thrown to the caller.
    static let maximumAttempts = 5

    /// Runs a transaction that is committed when the closure returns and rolled back when it throws.
    ///
    /// After a deadlock (40P01) or serialization failure (40001), the server has certainly rolled back. The closure
    /// then **runs again**, up to five times in total, after a random pause of at most 80 ms. It must therefore have no
    /// side effects outside this transaction.
    ///
    /// - Parameters:
    ///   - isolation: the isolation level.
    ///   - body: runs the statements of the transaction.
    /// - Returns: the value of `body`.
    /// - Throws: the error of `body`; a ``PostgresError``, with ``PostgresError/outcomeUnknown`` set if the connection
    ///   was lost during the commit; or `CancellationError`, after which nothing is committed.
    public nonisolated(nonsending) func transaction<Value>(
        isolation: PostgresIsolation = .readCommitted,
        _ body: nonisolated(nonsending) (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        var attempt = 1
        while true {
            let transaction = PostgresTransaction(engine: engine, isolation: isolation)
            do {
                let value = try await body(transaction)
                try await transaction.commit()
                return value
            } catch {
                await transaction.rollback()
                guard attempt < Self.maximumAttempts, transaction.isRetryable(after: error), !Task.isCancelled else {
                    throw error
                }
                // The random pause keeps two conflicting transactions from colliding again.
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...(5 << attempt))))
                attempt += 1
            }
        }
    }
}
