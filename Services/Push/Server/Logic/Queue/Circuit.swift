import Foundation

/// Whether anything is sent in a lane just now.
///
/// It is in the database, so that all instances hold back together, and only one of them tries whether it is well again.
struct Circuit: Hashable, Sendable {
    var isOpen = false
    var reason: String?
    /// In a row, of any instance.
    var failures = 0
    /// How often it was opened since it last was well.
    var openings = 0
    var openedAt: Date?
    var retryAt: Date?
    /// Until then somebody tries with one.
    var probeUntil: Date?
    var resumedAt: Date?

    /// What a push service's answers to a batch say about it.
    struct StatusCounts: Sendable {
        /// It took something, or said what is wrong with it: it is there.
        var responded = 0
        /// It is overloaded, broken, or not there.
        var busy = 0
        /// It does not take our credentials.
        var isMisconfigured = false
        /// Seconds, as it asked for.
        var retryAfter: TimeInterval?
        var reason: String?
    }

    /// So many failures in a row and nothing else open it.
    static let threshold = 8
    /// How long an instance has for a trial, in seconds.
    static let probe: TimeInterval = 20
    private static let minimumPause: TimeInterval = 2
    private static let maximumPause: TimeInterval = 60
    /// The longest that a push service may ask to be left alone for.
    private static let maximumRequestedDelay: TimeInterval = 3_600

    /// As it is after a batch of answers; `jitter`, 0..<1, keeps instances and lanes from coming back at one moment.
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
            // What was on its way when it was opened says nothing.
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

    /// Whether it is time to try with one.
    func canProbe(at now: Date) -> Bool {
        isOpen && retryAt.map { $0 <= now } ?? true && !isProbing(at: now)
    }

    /// How many may be on their way at once: few after it was broken, twice as many each second.
    func quota(of limit: Int, at now: Date) -> Int {
        guard !isOpen else { return 0 }
        guard let resumedAt else { return limit }
        let seconds = max(0, Int(now.timeIntervalSince(resumedAt)))
        return seconds >= 16 ? limit : min(limit, 4 << seconds)
    }

    /// Whether there is nothing to remember of it.
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
