import Locks
import Wire

/// A limit of one running operation per key; further operations wait in the order of arrival.
///
/// They would otherwise wait for the same row lock, each with a database connection. Waiting here keeps a burst on one
/// row from occupying the connection pool.
final class KeyedConcurrencyLimit<Key: Hashable & Sendable>: Sendable {
    private let maximumWaiting: Int
    private let waiting = Lock<[Key: [CheckedContinuation<Bool, Never>]]>([:])

    init(maximumWaiting: Int) {
        self.maximumWaiting = maximumWaiting
    }

    /// Runs `body` after all earlier operations with the same key.
    ///
    /// - Throws: the errors of `body`; a 429 if too many operations wait for the key.
    func run<Result: Sendable>(
        _ key: Key,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await acquire(key)
        defer { release(key) }
        return try await body()
    }

    private func acquire(_ key: Key) async throws {
        let isRefused = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let rejection: Bool? = waiting.withLock { waiting in
                guard let queue = waiting[key] else {
                    waiting[key] = []
                    return false
                }
                guard queue.count < maximumWaiting else { return true }
                waiting[key]?.append(continuation)
                return nil
            }
            if let rejection { continuation.resume(returning: rejection) }
        }
        if isRefused {
            throw APIError(.rateLimited, "too_many_concurrent_requests", "too many concurrent requests; try again")
        }
    }

    private func release(_ key: Key) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Bool, Never>? in
            guard let queue = waiting[key], !queue.isEmpty else {
                waiting[key] = nil
                return nil
            }
            return waiting[key]?.removeFirst()
        }
        next?.resume(returning: false)
    }
}
