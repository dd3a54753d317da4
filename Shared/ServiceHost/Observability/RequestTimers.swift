import Locks
import Metrics

/// The timers of a service's requests, each made once: to make one costs more than many a request's own work.
final class RequestTimers: Sendable {
    struct Key: Hashable {
        let method: String
        let route: String
        let status: Int
    }

    private let label: String
    private let known = Lock<[Key: Metrics.Timer]>([:])

    init(service: String) {
        label = "roost_\(service)_request_duration_seconds"
    }

    func record(_ key: Key, nanoseconds: Int64) {
        timer(key).recordNanoseconds(nanoseconds)
    }

    /// Methods, routes and statuses are few; the registry bounds them besides.
    private func timer(_ key: Key) -> Metrics.Timer {
        known.withLock { known in
            if let timer = known[key] { return timer }
            let dimensions = [("method", key.method), ("route", key.route), ("status", "\(key.status)")]
            let timer = Metrics.Timer(label: label, dimensions: dimensions)
            if known.count < 1_000 { known[key] = timer }
            return timer
        }
    }
}
