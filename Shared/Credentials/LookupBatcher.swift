import Foundation
import Locks
import Wire

/// Asks auth about sessions or keys, many at a time: what is wanted while a question is on its way goes with the next, and
/// who wants to know of the same waits for the one answer.
final class LookupBatcher<Found: Sendable>: Sendable {
    /// What there is of these names; what is left out is not there.
    typealias Source = @Sendable (_ names: [String]) async throws -> [String: Found]

    /// Questions on their way at once.
    private static var maximumConcurrent: Int { 4 }
    /// Names that are waited for; past them it is 503.
    private static var maximumWaiting: Int { 10_000 }
    /// The most names that one question may carry.
    private let batch: Int

    private struct State {
        var running = 0
        /// Not asked about yet.
        var next: [String] = []
        /// Who waits for each, asked about or not.
        var waiting: [String: [CheckedContinuation<Found?, any Error>]] = [:]
    }

    private let source: Source
    private let state = Lock(State())

    init(batch: Int, source: @escaping Source) {
        self.batch = batch
        self.source = source
    }

    /// What there is of a name; nil where there is nothing.
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
