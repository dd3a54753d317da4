import NIOCore

/// Takes an instance out of turn for a while that fails where others do not, and for longer each time.
struct Ejection {
    private let rules: HealthRules
    private(set) var consecutiveFailures = 0
    private(set) var until: NIODeadline?
    /// When it was last ejected.
    private(set) var since = NIODeadline.uptimeNanoseconds(0)
    private var count = 0
    private var lastEnd: NIODeadline?

    init(rules: HealthRules) {
        self.rules = rules
    }

    /// Answers when the ejection was over, if it is now.
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
        // Who behaved for long enough begins anew.
        if let lastEnd, now - lastEnd > rules.maximumEjectionTime { count = 0 }
        count += 1
        let end = now + HealthRules.backoff(rules.baseEjectionTime, times: count, longest: rules.maximumEjectionTime)
        until = end
        lastEnd = end
        since = now
    }
}
