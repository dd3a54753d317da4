import NIOCore

/// Stops requests to an instance that does not respond, except for a few probes.
///
/// A closed circuit counts unanswered requests. An open circuit blocks all requests for a while. A half-open circuit
/// allows a few requests: responses close it, and a failure opens it for longer.
struct CircuitBreaker {
    enum State: Int, Sendable {
        case closed
        case halfOpen
        case open
    }

    private let rules: HealthRules
    private(set) var state = State.closed
    private(set) var openUntil = NIODeadline.uptimeNanoseconds(0)
    /// The time of the last change to open or half-open.
    private(set) var since = NIODeadline.uptimeNanoseconds(0)
    private(set) var consecutiveUnanswered = 0
    private var counts = SlidingCounts()
    private var openings = 0
    private var probesSince = NIODeadline.uptimeNanoseconds(0)
    private var probes = 0
    private var answeredProbes = 0

    init(rules: HealthRules) {
        self.rules = rules
    }

    mutating func advance(_ now: NIODeadline) {
        if state == .open, now >= openUntil { halfOpen(now) }
    }

    /// Returns whether a half-open circuit allows another request.
    mutating func hasProbe(_ now: NIODeadline) -> Bool {
        if now - probesSince >= rules.probeInterval {
            probesSince = now
            probes = 0
        }
        return probes < rules.probes
    }

    /// Admits a request; returns false when the last probe has been used meanwhile.
    mutating func enter(_ now: NIODeadline) -> Bool {
        guard state == .halfOpen else { return state == .closed }
        guard hasProbe(now) else { return false }
        probes += 1
        return true
    }

    // MARK: Results of requests and checks

    mutating func sent(_ requests: Int, _ now: NIODeadline) {
        counts.add(requests, now: now)
    }

    mutating func recordUnansweredRequest(_ now: NIODeadline) {
        consecutiveUnanswered += 1
        counts.add(0, marked: 1, now: now)
        if state == .halfOpen { open(now) } else { openIfFailing(now) }
    }

    /// Records an unanswered check, which does not reopen a half-open circuit; only its probes do.
    mutating func recordUnansweredCheck(_ now: NIODeadline) {
        consecutiveUnanswered += 1
        openIfFailing(now)
    }

    mutating func recordResponse() {
        consecutiveUnanswered = 0
    }

    /// Records the response to a request sent after the last change; returns whether it closed the circuit.
    mutating func recordProbeResponse() -> Bool {
        guard state == .halfOpen else { return false }
        answeredProbes += 1
        guard answeredProbes >= rules.probes else { return false }
        openings = 0
        close()
        return true
    }

    // MARK: State changes

    mutating func close() {
        state = .closed
        consecutiveUnanswered = 0
        counts = SlidingCounts()
    }

    mutating func halfOpen(_ now: NIODeadline) {
        state = .halfOpen
        probesSince = now
        probes = 0
        answeredProbes = 0
        since = now
    }

    private mutating func openIfFailing(_ now: NIODeadline) {
        guard state == .closed else { return }
        let (requests, unanswered) = counts.sum(now: now)
        let isMostlyUnanswered =
            requests >= rules.minimumRequestsToOpen && Double(unanswered) >= rules.failureRatioToOpen * Double(requests)
        if consecutiveUnanswered >= rules.failuresToOpen || isMostlyUnanswered { open(now) }
    }

    private mutating func open(_ now: NIODeadline) {
        state = .open
        openings += 1
        consecutiveUnanswered = 0
        openUntil = now + HealthRules.backoff(rules.openTime, times: openings, longest: rules.maximumOpenTime)
        since = now
    }
}
