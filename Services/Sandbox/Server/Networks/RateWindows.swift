import Foundation
import Locks

/// How much of something there is for how long.
struct RateBudget: Sendable {
    /// Which of a caller's budgets it is.
    let name: String
    let limit: Int
    /// Seconds.
    let window: TimeInterval
    var cost = 1
}

/// How a budget stands.
struct RateLimitStatus: Sendable {
    let limit: Int
    let used: Int
    let resetsAt: Date
    let window: TimeInterval

    var remaining: Int { max(0, limit - used) }
    var isOver: Bool { used > limit }
}

/// Counts what callers use of their budgets, in windows that begin with the first use.
final class RateWindows: Sendable {
    private struct Window {
        var used = 0
        var resetsAt: Date
    }

    private static let capacity = 100_000

    private let windows = Lock<[String: Window]>([:])
    private let multiple = Lock<[SandboxService: Double]>([:])

    func take(_ budget: RateBudget, of caller: String, on service: SandboxService, at time: Date) -> RateLimitStatus {
        let factor = multiple.withLock { $0[service] ?? 1 }
        let limit = Int(Double(budget.limit) * factor)
        return windows.withLock { windows in
            if windows.count >= Self.capacity { windows = windows.filter { $0.value.resetsAt > time } }
            let key = "\(service.rawValue) \(budget.name) \(caller)"
            var window = windows[key] ?? Window(resetsAt: time + budget.window)
            if window.resetsAt <= time { window = Window(resetsAt: time + budget.window) }
            // Who is over it does not get any further over it.
            if window.used <= limit { window.used += budget.cost }
            windows[key] = window
            return RateLimitStatus(limit: limit, used: window.used, resetsAt: window.resetsAt, window: budget.window)
        }
    }

    /// Makes all of a network's budgets so many times what they are, and forgets what was used.
    func multiply(_ service: SandboxService, by factor: Double) {
        multiple.withLock { $0[service] = factor }
        windows.withLock { windows in windows = windows.filter { !$0.key.hasPrefix("\(service.rawValue) ") } }
    }
}
