import Metrics
import NIOCore
import Synchronization

/// How one instance is doing, as all event loops see it: whether its turn may come, and whether it is left alone.
///
/// Two things are told apart. An instance that is *out of turn* — it says that it is not ready, or was ejected — is passed
/// over as long as there is another. One whose *circuit* is open gives no answers at all, and is left alone even where
/// it is the only one, but for a few probes.
///
/// A request of an instance that is well reads one atomic byte and takes no lock. Every method takes the time as a value.
final class InstanceHealth: Sendable {
    enum Circuit: Int, Sendable {
        case closed
        case halfOpen
        case open
    }

    enum Failure {
        /// It could not be connected to, broke off, or did not answer in time.
        case unanswered
        /// It answered 502, 503 or 504.
        case refusal
    }

    enum Admission: Equatable {
        case inTurn
        /// Only if no other is in turn.
        case lastResort
        /// Not before then.
        case refused(until: NIODeadline)
    }

    /// What operators see.
    struct Standing: Equatable {
        var isReady = true
        var isEjected = false
        var circuit = Circuit.closed

        var isInTurn: Bool { isReady && !isEjected }
    }

    private struct State {
        var isReady = true
        var missedChecks = 0

        var failuresInRow = 0
        var ejections = 0
        var ejectedUntil: NIODeadline?
        var lastEjection: NIODeadline?
        var returningSince: NIODeadline?

        var circuit = Circuit.closed
        var unansweredInRow = 0
        var counts = SlidingCounts()
        var openings = 0
        var openUntil = NIODeadline.uptimeNanoseconds(0)
        var probesSince = NIODeadline.uptimeNanoseconds(0)
        var probes = 0
        var answeredProbes = 0

        /// When the instance last came back or was sent away; what requests from before tell is old news.
        var since = NIODeadline.uptimeNanoseconds(0)

        var isInTurn: Bool { isReady && ejectedUntil == nil }
    }

    /// Something of the state is not as it is with an instance that is well.
    private enum Attention {
        static let choosing: UInt8 = 1
        static let succeeding: UInt8 = 2
    }

    let instance: UpstreamInstance
    let rules: HealthRules
    let meters: InstanceMeters
    private let state = Mutex(State())
    private let attention = Atomic<UInt8>(0)

    init(instance: UpstreamInstance, service: String, rules: HealthRules) {
        self.instance = instance
        self.rules = rules
        meters = InstanceMeters(service: service, instance: instance)
        meters.show(Standing())
    }

    // MARK: Read by every request

    /// Whether nothing stands against this instance.
    var isServing: Bool { attention.load(ordering: .relaxed) & Attention.choosing == 0 }

    var standing: Standing { state.withLock { Self.standing($0) } }

    /// Whether it answers at all, as far as is known.
    var isAnswering: Bool {
        isServing || state.withLock { $0.circuit != .open && $0.missedChecks < rules.missedChecks }
    }

    private static func standing(_ state: State) -> Standing {
        Standing(isReady: state.isReady, isEjected: state.ejectedUntil != nil, circuit: state.circuit)
    }

    private func update<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, before, after) = state.withLock { state in
            let before = Self.standing(state)
            let value = body(&state)
            let after = Self.standing(state)
            var attention: UInt8 = 0
            if after != Standing() || state.returningSince != nil { attention |= Attention.choosing }
            if state.failuresInRow + state.unansweredInRow > 0 || state.circuit != .closed {
                attention |= Attention.succeeding
            }
            self.attention.store(attention, ordering: .relaxed)
            return (value, before, after)
        }
        if before != after { meters.show(after, ejected: after.isEjected && !before.isEjected) }
        return value
    }

    // MARK: Choosing

    /// What the passing of time brings: ejections end, and so does the ramp that follows; open circuits become half open.
    func advance(_ now: NIODeadline) {
        guard !isServing else { return }
        update { advance(&$0, now) }
    }

    private func advance(_ state: inout State, _ now: NIODeadline) {
        if state.circuit == .open, now >= state.openUntil { halfOpen(&state, now) }
        if let until = state.ejectedUntil, now >= until {
            state.ejectedUntil = nil
            state.failuresInRow = 0
            comeBack(&state, until)
        }
        if let since = state.returningSince, now - since >= rules.returnTime { state.returningSince = nil }
    }

    /// Whether a request may go there; `chance` is a throw of the dice, from 0 up to 1.
    func admission(now: NIODeadline, chance: Double) -> Admission {
        update { state in
            advance(&state, now)
            switch state.circuit {
            case .open: return .refused(until: state.openUntil)
            // The probes that are under way may tell at any moment.
            case .halfOpen where !hasProbe(&state, now): return .refused(until: now)
            case .halfOpen, .closed: break
            }
            guard state.isInTurn else { return .lastResort }
            guard let since = state.returningSince else { return .inTurn }
            let share = Double((now - since).nanoseconds) / Double(max(1, rules.returnTime.nanoseconds))
            return chance < max(0.1, share) ? .inTurn : .lastResort
        }
    }

    private func hasProbe(_ state: inout State, _ now: NIODeadline) -> Bool {
        if now - state.probesSince >= rules.probeTime {
            state.probesSince = now
            state.probes = 0
        }
        return state.probes < rules.probes
    }

    /// Sends a request there; false where the last probe was taken meanwhile.
    func enter(now: NIODeadline) -> Bool {
        isServing
            || update { state in
                guard state.circuit == .halfOpen else { return state.circuit == .closed }
                guard hasProbe(&state, now) else { return false }
                state.probes += 1
                return true
            }
    }

    // MARK: What requests tell

    /// Requests were sent, by one event loop since it last told.
    func sent(_ requests: Int, now: NIODeadline) {
        guard requests > 0 else { return }
        state.withLock { $0.counts.add(requests, now: now) }
    }

    /// A request that was sent at `began` was answered.
    func succeeded(began: NIODeadline, now: @autoclosure () -> NIODeadline) {
        guard attention.load(ordering: .relaxed) & Attention.succeeding != 0 else { return }
        let now = now()
        update { state in
            state.failuresInRow = 0
            state.unansweredInRow = 0
            answered(&state, began: began, now: now)
        }
    }

    /// A request that was sent at `began` came to nothing.
    func failed(_ failure: Failure, began: NIODeadline, now: NIODeadline) {
        meters.failed(failure)
        update { state in
            guard began >= state.since else { return }
            state.failuresInRow += 1
            switch failure {
            case .unanswered:
                state.unansweredInRow += 1
                state.counts.add(0, marked: 1, now: now)
                considerOpening(&state, now)
            case .refusal:
                state.unansweredInRow = 0
                answered(&state, began: began, now: now)
            }
            if state.failuresInRow >= rules.failuresToEject, state.isInTurn { eject(&state, now) }
        }
    }

    private func answered(_ state: inout State, began: NIODeadline, now: NIODeadline) {
        guard state.circuit == .halfOpen, began >= state.since else { return }
        state.answeredProbes += 1
        guard state.answeredProbes >= rules.probes else { return }
        state.openings = 0
        close(&state, now)
    }

    private func close(_ state: inout State, _ now: NIODeadline) {
        state.circuit = .closed
        state.unansweredInRow = 0
        state.counts = SlidingCounts()
        comeBack(&state, now)
    }

    private func considerOpening(_ state: inout State, _ now: NIODeadline) {
        switch state.circuit {
        case .open: return
        case .halfOpen: open(&state, now)
        case .closed:
            let (requests, unanswered) = state.counts.sum(now: now)
            let isMostlyUnanswered =
                requests >= rules.requestsToOpen && Double(unanswered) >= rules.shareToOpen * Double(requests)
            if state.unansweredInRow >= rules.failuresToOpen || isMostlyUnanswered { open(&state, now) }
        }
    }

    private func open(_ state: inout State, _ now: NIODeadline) {
        state.circuit = .open
        state.openings += 1
        state.unansweredInRow = 0
        state.openUntil =
            now + HealthRules.grown(rules.openTime, times: state.openings, longest: rules.longestOpenTime)
        state.since = now
    }

    private func halfOpen(_ state: inout State, _ now: NIODeadline) {
        state.circuit = .halfOpen
        state.probesSince = now
        state.probes = 0
        state.answeredProbes = 0
        state.since = now
    }

    private func eject(_ state: inout State, _ now: NIODeadline) {
        // Who behaved for long enough begins anew.
        if let last = state.lastEjection, now - last > rules.longestEjection { state.ejections = 0 }
        state.ejections += 1
        let until = now + HealthRules.grown(rules.ejection, times: state.ejections, longest: rules.longestEjection)
        state.ejectedUntil = until
        state.lastEjection = until
        state.since = now
    }

    /// From now on its share grows.
    private func comeBack(_ state: inout State, _ now: NIODeadline) {
        if state.isInTurn { state.returningSince = now }
        state.since = now
    }

    // MARK: What checks tell

    /// `/ready` was asked for.
    func checked(_ verdict: ReadyProbe.Verdict, now: NIODeadline) {
        guard verdict != .ready || !isServing || state.withLock({ $0.missedChecks > 0 }) else { return }
        update { state in
            advance(&state, now)
            switch verdict {
            case .ready:
                // One that had vanished and is there again, started anew perhaps, need not wait for its time to pass.
                if state.missedChecks >= rules.missedChecks, state.circuit != .closed {
                    close(&state, now)
                } else if state.missedChecks > 0, state.circuit == .open {
                    halfOpen(&state, now)
                }
                state.missedChecks = 0
                guard !state.isReady else { break }
                state.isReady = true
                comeBack(&state, now)
            case .notReady:
                state.missedChecks = 0
                state.isReady = false
            case .noAnswer:
                state.missedChecks += 1
                if state.missedChecks >= rules.missedChecks { state.isReady = false }
                state.unansweredInRow += 1
                if state.circuit == .closed { considerOpening(&state, now) }
            }
        }
    }
}
