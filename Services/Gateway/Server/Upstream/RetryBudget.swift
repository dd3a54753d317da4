import Locks
import NIOCore

/// How many requests for a service may be sent a second time, so that one in trouble is not given twice the work.
///
/// A fifth of those of the last ten seconds; two where there were fewer than ten. Shared by all event loops, which tell
/// of their requests twice a second: what is not told yet makes the budget smaller, never larger.
final class RetryBudget: Sendable {
    private static let share = 0.2
    private static let least = 2.0

    private let counts = Lock(SlidingCounts())

    func earn(_ requests: Int, now: NIODeadline) {
        guard requests > 0 else { return }
        counts.withLock { $0.add(requests, now: now) }
    }

    func spend(now: NIODeadline) -> Bool {
        counts.withLock { counts in
            let (requests, retries) = counts.sum(now: now)
            guard Double(retries + 1) <= max(Self.least, Self.share * Double(requests)) else { return false }
            counts.add(0, marked: 1, now: now)
            return true
        }
    }
}
