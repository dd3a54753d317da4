/// Work that took longer than it may.
package struct DeadlineExceeded: Error {}

/// Does something within a time, and cancels it after that.
///
/// - Throws: `DeadlineExceeded`, or what `body` throws.
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
        // The first to end decides: there are two.
        guard let value = try await tasks.next() ?? nil else { throw DeadlineExceeded() }
        return value
    }
}

extension Task where Failure == any Error {
    /// Its value, for as long as who waits for it is not cancelled; the task itself goes on for others.
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
