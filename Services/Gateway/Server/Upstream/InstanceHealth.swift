import Locks
import Metrics
import NIOCore
import NIOHTTP1
import Synchronization

/// What an instance says, in the fields of its `/ready`, of the processes before it.
struct InstanceHistory: Sendable {
    /// How often its supervisor has started it again.
    let restarts: Int
    /// How the last one ended, as `signal 11`.
    let lastExit: String?
    let lastExitAt: String?

    /// Nil where the instance says nothing, since its supervisor has told it nothing.
    init?(_ fields: HTTPHeaders) {
        guard let restarts = fields.first(name: "x-roost-restarts").flatMap({ Int($0) }), restarts >= 0 else {
            return nil
        }
        self.restarts = restarts
        lastExit = fields.first(name: "x-roost-last-exit")
        lastExitAt = fields.first(name: "x-roost-last-exit-at")
    }
}

/// How one instance is doing, as all event loops see it: whether its turn may come, and whether it is left alone.
///
/// Two things are told apart. An instance that is *out of turn* — it says that it is not ready, or was ejected — is passed
/// over as long as there is another. One whose *circuit* is open gives no answers at all, and is left alone even where
/// it is the only one, but for a few probes.
///
/// A request of an instance that is well reads one atomic byte and takes no lock. Every method takes the time as a value.
final class InstanceHealth: Sendable {
    enum Failure {
        /// It could not be connected to, broke off, or did not answer in time.
        case unanswered
        /// It answered 502, 503 or 504.
        case errorStatus
    }

    enum Admission: Equatable {
        case inRotation
        /// Only if no other is in turn.
        case fallback
        /// Not before then.
        case refused(until: NIODeadline)
    }

    /// What operators see.
    struct HealthStatus: Equatable {
        var isReady = true
        var isEjected = false
        var circuit = CircuitBreaker.State.closed

        var isInRotation: Bool { isReady && !isEjected }
    }

    private struct State {
        var isReady = true
        var missedChecks = 0
        var ejection: Ejection
        var circuit: CircuitBreaker
        /// Since when its share grows.
        var recoveringSince: NIODeadline?
        var recoveredAt = NIODeadline.uptimeNanoseconds(0)

        init(rules: HealthRules) {
            ejection = Ejection(rules: rules)
            circuit = CircuitBreaker(rules: rules)
        }

        var isInRotation: Bool { isReady && ejection.until == nil }

        /// When the instance last came back or was sent away; what requests from before tell is old news.
        var since: NIODeadline { max(recoveredAt, ejection.since, circuit.since) }

        var healthStatus: HealthStatus {
            HealthStatus(isReady: isReady, isEjected: ejection.until != nil, circuit: circuit.state)
        }
    }

    /// Something of the state is not as it is with an instance that is well.
    private enum Flags {
        static let choosing: UInt8 = 1
        static let succeeding: UInt8 = 2
    }

    let instance: UpstreamInstance
    let rules: HealthRules
    let metrics: InstanceMetrics
    private let state: Lock<State>
    private let flags = Atomic<UInt8>(0)
    private let lastHistory = Lock<InstanceHistory?>(nil)

    init(instance: UpstreamInstance, service: String, rules: HealthRules) {
        self.instance = instance
        self.rules = rules
        state = Lock(State(rules: rules))
        metrics = InstanceMetrics(service: service, instance: instance)
        metrics.recordGauges(HealthStatus())
    }

    // MARK: Read by every request

    /// Whether nothing stands against this instance.
    var isHealthy: Bool { flags.load(ordering: .relaxed) & Flags.choosing == 0 }

    var healthStatus: HealthStatus { state.withLock(\.healthStatus) }

    /// What the instance last said of the processes before it; nil where it has never said anything.
    var history: InstanceHistory? { lastHistory.withLock { $0 } }

    func recordHistory(_ history: InstanceHistory?) {
        guard let history else { return }
        lastHistory.withLock { $0 = history }
    }

    /// Whether it answers at all, as far as is known.
    var isResponding: Bool {
        isHealthy || state.withLock { $0.circuit.state != .open && $0.missedChecks < rules.missedChecks }
    }

    private func update<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, before, after) = state.withLock { state in
            let before = state.healthStatus
            let value = body(&state)
            let after = state.healthStatus
            var flags: UInt8 = 0
            if after != HealthStatus() || state.recoveringSince != nil { flags |= Flags.choosing }
            if state.ejection.consecutiveFailures + state.circuit.consecutiveUnanswered > 0 || after.circuit != .closed
            {
                flags |= Flags.succeeding
            }
            self.flags.store(flags, ordering: .relaxed)
            return (value, before, after)
        }
        if before != after { metrics.recordGauges(after, ejected: after.isEjected && !before.isEjected) }
        return value
    }

    // MARK: Choosing

    /// What the passing of time brings: ejections end, and so does the ramp that follows; open circuits become half open.
    func advance(_ now: NIODeadline) {
        guard !isHealthy else { return }
        update { advance(&$0, now) }
    }

    private func advance(_ state: inout State, _ now: NIODeadline) {
        state.circuit.advance(now)
        if let end = state.ejection.advance(now) { beginRecovery(&state, end) }
        if let since = state.recoveringSince, now - since >= rules.slowStartTime { state.recoveringSince = nil }
    }

    /// Whether a request may go there; `chance` is a throw of the dice, from 0 up to 1.
    func admission(now: NIODeadline, chance: Double) -> Admission {
        update { state in
            advance(&state, now)
            switch state.circuit.state {
            case .open: return .refused(until: state.circuit.openUntil)
            // The probes that are under way may tell at any moment.
            case .halfOpen where !state.circuit.hasProbe(now): return .refused(until: now)
            case .halfOpen, .closed: break
            }
            guard state.isInRotation else { return .fallback }
            guard let since = state.recoveringSince else { return .inRotation }
            let share = Double((now - since).nanoseconds) / Double(max(1, rules.slowStartTime.nanoseconds))
            return chance < max(0.1, share) ? .inRotation : .fallback
        }
    }

    /// Sends a request there; false where the last probe was taken meanwhile.
    func enter(now: NIODeadline) -> Bool {
        isHealthy || update { $0.circuit.enter(now) }
    }

    // MARK: What requests tell

    /// Requests were sent, by one event loop since it last told.
    func sent(_ requests: Int, now: NIODeadline) {
        guard requests > 0 else { return }
        state.withLock { $0.circuit.sent(requests, now) }
    }

    /// A request that was sent at `began` was answered.
    func succeeded(began: NIODeadline, now: @autoclosure () -> NIODeadline) {
        guard flags.load(ordering: .relaxed) & Flags.succeeding != 0 else { return }
        let now = now()
        update { state in
            state.ejection.succeeded()
            state.circuit.recordResponse()
            answered(&state, began: began, now: now)
        }
    }

    /// A request that was sent at `began` came to nothing.
    func failed(_ failure: Failure, began: NIODeadline, now: NIODeadline) {
        metrics.failed(failure)
        update { state in
            guard began >= state.since else { return }
            switch failure {
            case .unanswered: state.circuit.recordUnansweredRequest(now)
            case .errorStatus:
                state.circuit.recordResponse()
                answered(&state, began: began, now: now)
            }
            state.ejection.failed(isInRotation: state.isInRotation, now)
        }
    }

    private func answered(_ state: inout State, began: NIODeadline, now: NIODeadline) {
        guard began >= state.since else { return }
        if state.circuit.recordProbeResponse() { beginRecovery(&state, now) }
    }

    /// From now on its share grows.
    private func beginRecovery(_ state: inout State, _ now: NIODeadline) {
        if state.isInRotation { state.recoveringSince = now }
        state.recoveredAt = now
    }

    // MARK: What checks tell

    /// `/ready` was asked for.
    func recordCheck(_ outcome: ReadyProbe.Outcome, now: NIODeadline) {
        guard outcome != .ready || !isHealthy || state.withLock({ $0.missedChecks > 0 }) else { return }
        update { state in
            advance(&state, now)
            switch outcome {
            case .ready:
                // One that had vanished and is there again, started anew perhaps, need not wait for its time to pass.
                if state.missedChecks >= rules.missedChecks, state.circuit.state != .closed {
                    state.circuit.close()
                    beginRecovery(&state, now)
                } else if state.missedChecks > 0, state.circuit.state == .open {
                    state.circuit.halfOpen(now)
                }
                state.missedChecks = 0
                guard !state.isReady else { break }
                state.isReady = true
                beginRecovery(&state, now)
            case .notReady:
                state.missedChecks = 0
                state.isReady = false
            case .noResponse:
                state.missedChecks += 1
                if state.missedChecks >= rules.missedChecks { state.isReady = false }
                state.circuit.recordUnansweredCheck(now)
            }
        }
    }
}
