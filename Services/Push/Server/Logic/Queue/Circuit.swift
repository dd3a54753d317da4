import Foundation

/// The circuit breaker of a provider queue.
///
/// The state is in the database, so that all instances pause together and only one instance probes.
struct Circuit: Hashable, Sendable {
    var isOpen = false
    var reason: String?
    /// Consecutive failures in all instances.
    var failures = 0
    /// The number of times that it opened since the provider last worked.
    var openings = 0
    var openedAt: Date?
    var retryAt: Date?
    var probeUntil: Date?
    var resumedAt: Date?

    struct StatusCounts: Sendable {
        /// Replies that show that the provider works: it accepted or rejected a notification.
        var responded = 0
        /// Replies or failures that show that the provider is overloaded, broken or unreachable.
        var busy = 0
        var isMisconfigured = false
        /// In seconds, as the provider requested.
        var retryAfter: TimeInterval?
        var reason: String?
    }

    static let threshold = 8
    /// The seconds that an instance has for a probe.
    static let probe: TimeInterval = 20
    private static let minimumPause: TimeInterval = 2
    private static let maximumPause: TimeInterval = 60
    /// The maximum pause in seconds that a provider can request.
    private static let maximumRequestedDelay: TimeInterval = 3_600

    /// Returns the state after a batch of replies; `jitter`, 0..<1, spreads the retries of instances and queues.
    func after(_ statusCounts: StatusCounts, at now: Date, jitter: Double) -> Circuit {
        var next = self
        if statusCounts.isMisconfigured {
            guard !isOpen || isProbing(at: now) else { return self }
            next.open(for: pause(jitter), at: now, statusCounts.reason)
        } else if let requested = statusCounts.retryAfter {
            next.open(
                for: max(min(requested, Self.maximumRequestedDelay) * (1 + jitter / 10), 1),
                at: now,
                statusCounts.reason
            )
        } else if statusCounts.responded > 0 {
            // A reply to a notification sent before the circuit opened does not close it.
            guard !isOpen || isProbing(at: now) else { return self }
            if isOpen {
                next = Circuit()
                next.resumedAt = now
            } else {
                next.failures = 0
            }
        } else if statusCounts.busy > 0 {
            next.failures += statusCounts.busy
            next.reason = statusCounts.reason
            if isOpen ? isProbing(at: now) : next.failures >= Self.threshold {
                next.open(for: pause(jitter), at: now, statusCounts.reason)
            }
        }
        return next
    }

    /// Returns whether an instance may send one notification as a probe.
    func canProbe(at now: Date) -> Bool {
        isOpen && retryAt.map { $0 <= now } ?? true && !isProbing(at: now)
    }

    /// Returns how many notifications may be in flight: 4 after the circuit closes, doubled each second up to `limit`.
    func quota(of limit: Int, at now: Date) -> Int {
        guard !isOpen else { return 0 }
        guard let resumedAt else { return limit }
        let seconds = max(0, Int(now.timeIntervalSince(resumedAt)))
        return seconds >= 16 ? limit : min(limit, 4 << seconds)
    }

    func isHealthy(at now: Date) -> Bool {
        !isOpen && failures == 0 && resumedAt.map { now.timeIntervalSince($0) > 60 } ?? true
    }

    private func isProbing(at now: Date) -> Bool { probeUntil.map { $0 > now } ?? false }

    private func pause(_ jitter: Double) -> TimeInterval {
        min(Self.maximumPause, Self.minimumPause * Double(1 << min(openings, 10))) * (0.8 + 0.4 * jitter)
    }

    private mutating func open(for seconds: TimeInterval, at now: Date, _ reason: String?) {
        if !isOpen { openedAt = now }
        isOpen = true
        self.reason = reason
        openings += 1
        retryAt = now.addingTimeInterval(seconds)
        probeUntil = nil
        resumedAt = nil
    }
}
