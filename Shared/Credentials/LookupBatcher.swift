import Foundation
import Locks
import Wire

/// Combines concurrent lookups of sessions or keys into batched requests to auth.
///
/// Names that are requested while other requests are in progress wait for the next batch. Callers that look up the same
/// name share one response.
final class LookupBatcher<Found: Sendable>: Sendable {
    /// Looks up names; the result omits names that do not exist.
    typealias Source = @Sendable (_ names: [String]) async throws -> [String: Found]

    /// The maximum number of concurrent requests.
    private static var maximumConcurrent: Int { 4 }
    /// The maximum number of names that wait for a response; further lookups fail with 503.
    private static var maximumWaiting: Int { 10_000 }
    /// The maximum number of names in one request.
    private let batch: Int

    private struct State {
        var running = 0
        /// The names that are not requested yet.
        var next: [String] = []
        /// The callers that wait for each name.
        var waiting: [String: [CheckedContinuation<Found?, any Error>]] = [:]
    }

    private let source: Source
    private let state = Lock(State())

    init(batch: Int, source: @escaping Source) {
        self.batch = batch
        self.source = source
    }

    /// Looks up a name; returns nil if it does not exist.
    func find(_ name: String) async throws -> Found? {
        try await withCheckedThrowingContinuation { continuation in
            let (isRefused, startsWorker) = state.withLock { state in
                if state.waiting[name] != nil {
                    state.waiting[name]?.append(continuation)
                    return (false, false)
                }
                guard state.waiting.count < Self.maximumWaiting else { return (true, false) }
                state.waiting[name] = [continuation]
                state.next.append(name)
                guard state.running < Self.maximumConcurrent else { return (false, false) }
                state.running += 1
                return (false, true)
            }
            if isRefused { continuation.resume(throwing: APIError.unavailable("auth")) }
            if startsWorker { Task { await loadBatches() } }
        }
    }

    private func loadBatches() async {
        while let batch = nextBatch() {
            let outcome: Result<[String: Found], any Error>
            do {
                outcome = .success(try await source(batch))
            } catch {
                outcome = .failure(error)
            }
            let waiting = state.withLock { state in
                batch.map { ($0, state.waiting.removeValue(forKey: $0) ?? []) }
            }
            for (name, continuations) in waiting {
                for continuation in continuations { continuation.resume(with: outcome.map { $0[name] }) }
            }
        }
    }

    private func nextBatch() -> [String]? {
        state.withLock { state in
            guard !state.next.isEmpty else {
                state.running -= 1
                return nil
            }
            let batch = Array(state.next.prefix(self.batch))
            state.next.removeFirst(batch.count)
            return batch
        }
    }
}
