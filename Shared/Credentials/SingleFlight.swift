import Locks

/// Combines concurrent requests for a value into one.
final class SingleFlight<Value: Sendable>: Sendable {
    private let current = Lock<Task<Value, any Error>?>(nil)

    func value(_ make: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = current.withLock { current in
            if let current { return current }
            let task = Task { [self] in
                defer { self.current.withLock { $0 = nil } }
                return try await make()
            }
            current = task
            return task
        }
        return try await task.value
    }
}
