import Locks
import Wire

/// Lets those who want the same thing have it one after the other, in the order they came.
///
/// What they would wait for anyway, a lock on one row, they then wait for here and not with a connection in hand, so a
/// burst on one row is no burst on everybody's connections.
final class KeyedConcurrencyLimit<Key: Hashable & Sendable>: Sendable {
    private let maximumWaiting: Int
    /// Who waits for each key that somebody has.
    private let waiting = Lock<[Key: [CheckedContinuation<Bool, Never>]]>([:])

    init(maximumWaiting: Int) {
        self.maximumWaiting = maximumWaiting
    }

    /// Runs `body` when its turn has come.
    ///
    /// - Throws: what `body` throws; a 429 where too many are waiting for the same.
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
            throw APIError(.rateLimited, "too_many_concurrent_requests", "too many of these at once; try again")
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
