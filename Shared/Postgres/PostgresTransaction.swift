import Locks
import Synchronization

/// How much a transaction sees of others that run beside it.
public enum PostgresIsolation: String, Sendable {
    /// Each statement sees what was committed before it began.
    case readCommitted = "READ COMMITTED"
    /// Every statement sees what was committed before the first.
    case repeatableRead = "REPEATABLE READ"
    /// As if transactions ran one after another.
    case serializable = "SERIALIZABLE"
}

/// A transaction under way: statements run on it are committed together or not at all.
///
/// It lives as long as the closure it was given to. After a statement has failed every other fails too (SQLSTATE
/// 25P02), and the transaction is rolled back even if the closure returns as if nothing had been.
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

    /// Runs an action when the transaction is committed, before ``PostgresPool/transaction(isolation:_:)`` returns.
    ///
    /// It does not run where the transaction is rolled back, nor where the connection is lost while committing.
    public func onCommit(_ action: @escaping @Sendable () -> Void) {
        actions.withLock { $0.append(action) }
    }

    /// Commits; not interrupted by a cancelled task, since then nobody would know whether it has.
    func commit() async throws {
        try await engine.commit(session)
        for action in actions.withLock(\.self) { action() }
    }

    func rollback() async {
        await engine.rollback(session)
    }

    /// Whether a failure was one that a second run may not meet.
    func isRetryable(after error: any Error) -> Bool {
        if session.failedRetryably.load(ordering: .relaxed) { return true }
        guard let state = (error as? PostgresError)?.sqlState else { return false }
        return PostgresError.retryableStates.contains(state)
    }
}

extension PostgresPool {
    /// How often a transaction is run before its serialization failure or deadlock is the caller's.
    static let maximumAttempts = 5

    /// Runs statements that are committed together when the closure returns, and rolled back when it throws.
    ///
    /// A deadlock (40P01) or serialization failure (40001) is rolled back by the server for certain and the closure is
    /// **run again**, up to five times: it must do nothing but work on its values and this transaction.
    ///
    /// - Throws: what the closure threw; a ``PostgresError``, with ``PostgresError/outcomeUnknown`` if the connection
    ///   was lost while committing; `CancellationError`, after which nothing is committed.
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
                // Two that met once would meet again if both came back at once.
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...(5 << attempt))))
                attempt += 1
            }
        }
    }
}
