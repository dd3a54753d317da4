/// What a statement can be run on: a pool, its reads or a transaction.
///
/// A store takes `some PostgresExecutor` and so neither knows nor cares which.
public protocol PostgresExecutor: Sendable {
    /// Runs one statement.
    ///
    /// - Throws: ``PostgresError``, or `CancellationError` as soon as the task is cancelled.
    func execute(_ query: PostgresQuery) async throws -> PostgresResult
}

extension PostgresExecutor {
    /// Every row.
    public nonisolated(nonsending) func all<Value>(
        _ query: PostgresQuery,
        as read: (PostgresRow) throws -> Value
    ) async throws -> [Value] {
        try await execute(query).map(read)
    }

    /// The only row; anything but one row is an error.
    public nonisolated(nonsending) func one<Value>(
        _ query: PostgresQuery,
        as read: (PostgresRow) throws -> Value
    ) async throws -> Value {
        let result = try await execute(query)
        guard result.count == 1 else {
            throw PostgresError(.unexpectedRowCount(result.count), "\(result.count) rows where there must be one")
        }
        return try read(result[0])
    }

    /// The first row, if there is any.
    public nonisolated(nonsending) func first<Value>(
        _ query: PostgresQuery,
        as read: (PostgresRow) throws -> Value
    ) async throws -> Value? {
        try await execute(query).first.map(read)
    }

    /// Runs a statement for what it does; returns how many rows it inserted, changed or deleted.
    @discardableResult
    public nonisolated(nonsending) func run(_ query: PostgresQuery) async throws -> Int {
        try await execute(query).affectedRows
    }
}
