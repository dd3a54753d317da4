import NIOCore

/// Removes a failing instance from the rotation for a while, and for longer each time.
struct Ejection {
    private let rules: HealthRules
    private(set) var consecutiveFailures = 0
    private(set) var until: NIODeadline?
    private(set) var since = NIODeadline.uptimeNanoseconds(0)
    private var count = 0
    private var lastEnd: NIODeadline?

    init(rules: HealthRules) {
        self.rules = rules
    }

    /// Returns the end of the ejection if it has passed.
    mutating func advance(_ now: NIODeadline) -> NIODeadline? {
        guard let end = until, now >= end else { return nil }
        until = nil
        consecutiveFailures = 0
        return end
    }

    mutating func succeeded() {
        consecutiveFailures = 0
    }

    mutating func failed(isInRotation: Bool, _ now: NIODeadline) {
        consecutiveFailures += 1
        guard consecutiveFailures >= rules.failuresToEject, isInRotation else { return }
        // After a long time without an ejection, the next ejection is short again.
        if let lastEnd, now - lastEnd > rules.maximumEjectionTime { count = 0 }
        count += 1
        let end = now + HealthRules.backoff(rules.baseEjectionTime, times: count, longest: rules.maximumEjectionTime)
        until = end
        lastEnd = end
        since = now
    }
}
