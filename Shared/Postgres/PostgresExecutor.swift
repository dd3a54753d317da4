/// A value that can run statements: a pool, its shared reads, or a transaction.
///
/// A store accepts `some PostgresExecutor` and therefore works with each of them.
public protocol PostgresExecutor: Sendable {
    /// Runs one statement and returns its result.
    ///
    /// - Parameter query: the statement and its parameters.
    /// - Returns: the rows and the number of affected rows.
    /// - Throws: a ``PostgresError``, or `CancellationError` as soon as the task is cancelled.
    func execute(_ query: PostgresQuery) async throws -> PostgresResult
}

extension PostgresExecutor {
    /// Runs a query and returns all rows, each converted by `read`.
    public nonisolated(nonsending) func all<Value>(
        _ query: PostgresQuery,
        as read: (PostgresRow) throws -> Value
    ) async throws -> [Value] {
        try await execute(query).map(read)
    }

    /// Runs a query that must return exactly one row and returns that row, converted by `read`.
    ///
    /// - Parameters:
    ///   - query: the statement and its parameters.
    ///   - read: converts the row to a value.
    /// - Returns: the value of the only row.
    /// - Throws: a ``PostgresError`` of kind ``PostgresError/Kind/unexpectedRowCount(_:)`` for zero or several rows;
    ///   otherwise the error of `execute` or `read`.
    public nonisolated(nonsending) func one<Value>(
        _ query: PostgresQuery,
        as read: (PostgresRow) throws -> Value
    ) async throws -> Value {
        let result = try await execute(query)
        guard result.count == 1 else {
            throw PostgresError(.unexpectedRowCount(result.count), "expected 1 row, received \(result.count)")
        }
        return try read(result[0])
    }

    /// Runs a query and returns its first row, converted by `read`, or nil if there are no rows.
    public nonisolated(nonsending) func first<Value>(
        _ query: PostgresQuery,
        as read: (PostgresRow) throws -> Value
    ) async throws -> Value? {
        try await execute(query).first.map(read)
    }

    /// Runs a statement and returns the number of rows that it inserted, updated or deleted.
    @discardableResult
    public nonisolated(nonsending) func run(_ query: PostgresQuery) async throws -> Int {
        try await execute(query).affectedRows
    }
}
