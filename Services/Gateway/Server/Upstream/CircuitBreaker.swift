import NIOCore

/// Leaves alone an instance that gives no answers at all, but for a few probes that tell when it does again.
///
/// Closed, it counts what stayed unanswered; open, it lets nothing through for a while; half open, it lets a few requests
/// through, whose answers close it and whose failure opens it for longer.
struct CircuitBreaker {
    enum State: Int, Sendable {
        case closed
        case halfOpen
        case open
    }

    private let rules: HealthRules
    private(set) var state = State.closed
    private(set) var openUntil = NIODeadline.uptimeNanoseconds(0)
    /// When it last opened, half or whole.
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

    /// Whether another request may go through while it is half open.
    mutating func hasProbe(_ now: NIODeadline) -> Bool {
        if now - probesSince >= rules.probeInterval {
            probesSince = now
            probes = 0
        }
        return probes < rules.probes
    }

    /// A request wants to go through; false where the last probe was taken meanwhile.
    mutating func enter(_ now: NIODeadline) -> Bool {
        guard state == .halfOpen else { return state == .closed }
        guard hasProbe(now) else { return false }
        probes += 1
        return true
    }

    // MARK: What requests and checks tell

    mutating func sent(_ requests: Int, _ now: NIODeadline) {
        counts.add(requests, now: now)
    }

    mutating func recordUnansweredRequest(_ now: NIODeadline) {
        consecutiveUnanswered += 1
        counts.add(0, marked: 1, now: now)
        if state == .halfOpen { open(now) } else { openIfFailing(now) }
    }

    /// Says nothing about the probes of a half open one, which tell more.
    mutating func recordUnansweredCheck(_ now: NIODeadline) {
        consecutiveUnanswered += 1
        openIfFailing(now)
    }

    /// An answer came, whatever it said.
    mutating func recordResponse() {
        consecutiveUnanswered = 0
    }

    /// A request was answered that was sent after the last change; says whether that closed the circuit.
    mutating func recordProbeResponse() -> Bool {
        guard state == .halfOpen else { return false }
        answeredProbes += 1
        guard answeredProbes >= rules.probes else { return false }
        openings = 0
        close()
        return true
    }

    // MARK: Changes

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
