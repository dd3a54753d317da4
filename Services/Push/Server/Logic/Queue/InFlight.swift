import Foundation
import Locks

/// The notifications that this instance has claimed and whose results are not in the database yet.
final class InFlight: Sendable {
    private struct State {
        var claimed: [ProviderQueue.Entry: (claimed: ClaimedEntry, leasedAt: Date)] = [:]
        var queues: [ProviderQueue: Int] = [:]
        var completed: [SendResult] = []
    }

    private let state = Lock(State())

    var count: Int { state.withLock { $0.claimed.count } }

    var awaitingResponse: Int { state.withLock { $0.claimed.count - $0.completed.count } }

    func count(in queue: ProviderQueue) -> Int { state.withLock { $0.queues[queue] ?? 0 } }

    /// Returns false if this instance still processes the entry, whose lease ended meanwhile.
    func begin(_ claimed: ClaimedEntry, at now: Date) -> Bool {
        state.withLock { state in
            guard state.claimed[claimed.entry] == nil else { return false }
            state.claimed[claimed.entry] = (claimed, now)
            state.queues[claimed.queue, default: 0] += 1
            return true
        }
    }

    func complete(_ result: SendResult) {
        state.withLock { $0.completed.append(result) }
    }

    func takeCompleted(_ limit: Int) -> [SendResult] {
        state.withLock { state in
            let batch = Array(state.completed.prefix(limit))
            state.completed.removeFirst(batch.count)
            return batch
        }
    }

    /// Puts back results that could not be stored.
    func restore(_ batch: [SendResult]) {
        state.withLock { $0.completed = batch + $0.completed }
    }

    func finish(_ batch: [SendResult]) {
        state.withLock { state in
            for result in batch where state.claimed.removeValue(forKey: result.claimed.entry) != nil {
                let queue = result.claimed.queue
                let left = (state.queues[queue] ?? 1) - 1
                state.queues[queue] = left > 0 ? left : nil
            }
        }
    }

    /// Returns the entries leased before `date`, and sets the start of their lease to `now`.
    func leasesToRenew(leasedBefore date: Date, at now: Date) -> [ProviderQueue.Entry] {
        state.withLock { state in
            let entries = state.claimed.filter { $0.value.leasedAt < date }.map(\.key)
            for entry in entries { state.claimed[entry]?.leasedAt = now }
            return entries
        }
    }
}
