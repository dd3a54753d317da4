import Foundation
import Locks

/// What this instance has claimed and not settled yet: being sent, or answered and not written down.
final class UnderWay: Sendable {
    private struct State {
        var claimed: [Lane.Entry: (claimed: Claimed, leasedAt: Date)] = [:]
        var lanes: [Lane: Int] = [:]
        var answered: [Settlement] = []
    }

    private let state = Lock(State())

    var count: Int { state.withLock { $0.claimed.count } }

    /// Those whose push service has not answered yet.
    var unanswered: Int { state.withLock { $0.claimed.count - $0.answered.count } }

    func count(in lane: Lane) -> Int { state.withLock { $0.lanes[lane] ?? 0 } }

    /// False: this instance has it already, and its lease ended meanwhile.
    func begin(_ claimed: Claimed, at now: Date) -> Bool {
        state.withLock { state in
            guard state.claimed[claimed.entry] == nil else { return false }
            state.claimed[claimed.entry] = (claimed, now)
            state.lanes[claimed.lane, default: 0] += 1
            return true
        }
    }

    func answer(_ settlement: Settlement) {
        state.withLock { $0.answered.append(settlement) }
    }

    /// What was answered and is to be written down, at most so many.
    func takeAnswered(_ limit: Int) -> [Settlement] {
        state.withLock { state in
            let batch = Array(state.answered.prefix(limit))
            state.answered.removeFirst(batch.count)
            return batch
        }
    }

    /// It could not be written down.
    func putBack(_ batch: [Settlement]) {
        state.withLock { $0.answered = batch + $0.answered }
    }

    func settled(_ batch: [Settlement]) {
        state.withLock { state in
            for settlement in batch where state.claimed.removeValue(forKey: settlement.claimed.entry) != nil {
                let lane = settlement.claimed.lane
                let left = (state.lanes[lane] ?? 1) - 1
                state.lanes[lane] = left > 0 ? left : nil
            }
        }
    }

    /// Those whose lease was taken before that and is to be renewed; from now on it counts from `now`.
    func renewing(leasedBefore date: Date, at now: Date) -> [Lane.Entry] {
        state.withLock { state in
            let entries = state.claimed.filter { $0.value.leasedAt < date }.map(\.key)
            for entry in entries { state.claimed[entry]?.leasedAt = now }
            return entries
        }
    }
}
