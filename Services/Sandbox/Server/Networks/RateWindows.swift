import Foundation
import Locks

/// A rate limit: a number of requests in a window of time.
struct RateBudget: Sendable {
    /// The name of the limit, which distinguishes the limits of one caller.
    let name: String
    let limit: Int
    /// The length of the window in seconds.
    let window: TimeInterval
    var cost = 1
}

struct RateLimitStatus: Sendable {
    let limit: Int
    let used: Int
    let resetsAt: Date
    let window: TimeInterval

    var remaining: Int { max(0, limit - used) }
    var isOver: Bool { used > limit }
}

/// Counts the requests of callers in windows that begin with the first request.
final class RateWindows: Sendable {
    private struct Window {
        var used = 0
        var resetsAt: Date
    }

    private static let capacity = 100_000

    private let windows = Lock<[String: Window]>([:])
    private let multiple = Lock<[SandboxService: Double]>([:])

    func count(_ budget: RateBudget, of caller: String, on service: SandboxService, at time: Date) -> RateLimitStatus {
        let factor = multiple.withLock { $0[service] ?? 1 }
        let limit = Int(Double(budget.limit) * factor)
        return windows.withLock { windows in
            if windows.count >= Self.capacity { windows = windows.filter { $0.value.resetsAt > time } }
            let key = "\(service.rawValue) \(budget.name) \(caller)"
            var window = windows[key] ?? Window(resetsAt: time + budget.window)
            if window.resetsAt <= time { window = Window(resetsAt: time + budget.window) }
            // Requests above the limit do not increase the count.
            if window.used <= limit { window.used += budget.cost }
            windows[key] = window
            return RateLimitStatus(limit: limit, used: window.used, resetsAt: window.resetsAt, window: budget.window)
        }
    }

    /// Multiplies all limits of a network by a factor, and resets their usage.
    func multiply(_ service: SandboxService, by factor: Double) {
        multiple.withLock { $0[service] = factor }
        windows.withLock { windows in windows = windows.filter { !$0.key.hasPrefix("\(service.rawValue) ") } }
    }
}
