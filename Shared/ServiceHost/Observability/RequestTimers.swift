import Locks
import Metrics

/// The timers of a service's requests, cached because creating a timer costs more than many a request.
final class RequestTimers: Sendable {
    struct Key: Hashable {
        let method: String
        let route: String
        let status: Int
    }

    private let label: String
    private let timers = Lock<[Key: Metrics.Timer]>([:])

    init(service: String) {
        label = "roost_\(service)_request_duration_seconds"
    }

    func record(_ key: Key, nanoseconds: Int64) {
        timer(key).recordNanoseconds(nanoseconds)
    }

    /// Returns the timer for a combination of method, route and status; there are few, and the registry also limits
    /// them.
    private func timer(_ key: Key) -> Metrics.Timer {
        timers.withLock { timers in
            if let timer = timers[key] { return timer }
            let dimensions = [("method", key.method), ("route", key.route), ("status", "\(key.status)")]
            let timer = Metrics.Timer(label: label, dimensions: dimensions)
            if timers.count < 1_000 { timers[key] = timer }
            return timer
        }
    }
}
