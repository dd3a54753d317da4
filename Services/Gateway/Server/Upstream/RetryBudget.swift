import Locks
import NIOCore

/// The number of retries that a service may receive, so that retries cannot double its load.
///
/// The budget is a fifth of the requests of the last ten seconds, and at least two. All event loops share it and report
/// their requests twice a second. Unreported requests make the budget smaller, never larger.
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
