import Foundation
import Synchronization
import Wire

/// Asks about sessions, many at a time: what is wanted while a question is on its way goes with the next, and who wants
/// to know of the same session waits for the one answer.
final class SessionLookups: Sendable {
    typealias Source = @Sendable (_ hashes: [String]) async throws -> [KnownSession]

    /// Questions on their way at once.
    private static let maximumAtOnce = 4
    /// Sessions that are waited for; past them it is 503.
    private static let maximumWaiting = 10_000

    private struct State {
        var atOnce = 0
        /// Not asked about yet.
        var next: [String] = []
        /// Who waits for each, asked about or not.
        var waiting: [String: [CheckedContinuation<KnownSession?, any Error>]] = [:]
    }

    private let source: Source
    private let state = Mutex(State())

    init(source: @escaping Source) {
        self.source = source
    }

    /// The session of a token's hash; nil where there is none.
    func find(_ hash: String) async throws -> KnownSession? {
        try await withCheckedThrowingContinuation { continuation in
            let (isRefused, isToAsk) = state.withLock { state in
                if state.waiting[hash] != nil {
                    state.waiting[hash]?.append(continuation)
                    return (false, false)
                }
                guard state.waiting.count < Self.maximumWaiting else { return (true, false) }
                state.waiting[hash] = [continuation]
                state.next.append(hash)
                guard state.atOnce < Self.maximumAtOnce else { return (false, false) }
                state.atOnce += 1
                return (false, true)
            }
            if isRefused { continuation.resume(throwing: APIError.unavailable("auth")) }
            if isToAsk { Task { await ask() } }
        }
    }

    private func ask() async {
        while let batch = takeBatch() {
            let outcome: Result<[String: KnownSession], any Error>
            do {
                let found = try await source(batch).map { ($0.tokenHash, $0) }
                outcome = .success(Dictionary(found) { first, _ in first })
            } catch {
                outcome = .failure(error)
            }
            let waiting = state.withLock { state in
                batch.map { ($0, state.waiting.removeValue(forKey: $0) ?? []) }
            }
            for (hash, continuations) in waiting {
                for continuation in continuations { continuation.resume(with: outcome.map { $0[hash] }) }
            }
        }
    }

    private func takeBatch() -> [String]? {
        state.withLock { state in
            guard !state.next.isEmpty else {
                state.atOnce -= 1
                return nil
            }
            let batch = Array(state.next.prefix(KnownSessions.maximum))
            state.next.removeFirst(batch.count)
            return batch
        }
    }
}
