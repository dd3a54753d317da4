/// The error of work that exceeded its time limit.
package struct DeadlineExceeded: Error {}

/// Runs work with a time limit and cancels it when the limit is exceeded.
///
/// - Parameters:
///   - limit: the time limit.
///   - body: the work.
/// - Returns: the value of `body`.
/// - Throws: `DeadlineExceeded`, or the error of `body`.
package func within<Value: Sendable>(
    _ limit: Duration,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    guard limit > .zero else { throw DeadlineExceeded() }
    return try await withThrowingTaskGroup(of: Value?.self) { tasks in
        tasks.addTask { try await body() }
        tasks.addTask {
            try await Task.sleep(for: limit, tolerance: .milliseconds(2))
            return nil
        }
        defer { tasks.cancelAll() }
        // The first of the two tasks to finish decides.
        guard let value = try await tasks.next() ?? nil else { throw DeadlineExceeded() }
        return value
    }
}

extension Task where Failure == any Error {
    /// The task's value; cancelling the caller ends only the caller's wait, so the task continues for others.
    package var cancellableValue: Success {
        get async throws {
            let (values, continuation) = AsyncThrowingStream<Success, any Error>.makeStream(
                bufferingPolicy: .bufferingNewest(1)
            )
            Task<Void, Never> {
                do {
                    continuation.yield(try await value)
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            for try await value in values { return value }
            throw Swift.CancellationError()
        }
    }
}
