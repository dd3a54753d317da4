import Locks
import Metrics
import NIOCore
import NIOHTTP1
import Synchronization

/// The history of an instance's processes, from the fields of its `/ready` response.
struct InstanceHistory: Sendable {
    let restarts: Int
    /// The last exit, for example `signal 11`.
    let lastExit: String?
    let lastExitAt: String?

    /// Returns nil when the fields have no history, as for an instance without a supervisor.
    init?(_ fields: HTTPHeaders) {
        guard let restarts = fields.first(name: "x-roost-restarts").flatMap({ Int($0) }), restarts >= 0 else {
            return nil
        }
        self.restarts = restarts
        lastExit = fields.first(name: "x-roost-last-exit")
        lastExitAt = fields.first(name: "x-roost-last-exit-at")
    }
}

/// The health of one instance, shared by all event loops.
///
/// There are two separate conditions. An instance is *out of rotation* when it is not ready or was ejected; requests
/// skip it as long as another instance is available. An instance whose *circuit* is open does not respond, and receives
/// only a few probes even when it is the only instance.
///
/// For a healthy instance, a request reads one atomic byte and takes no lock. Every method receives the time as a
/// parameter.
final class InstanceHealth: Sendable {
    enum Failure {
        /// A failed connection, a broken response, or no response in time.
        case unanswered
        /// Status 502, 503 or 504.
        case errorStatus
    }

    enum Admission: Equatable {
        case inRotation
        /// Only if no other instance is in rotation.
        case fallback
        /// Not before this time.
        case refused(until: NIODeadline)
    }

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
        /// The start of the recovery, in which the share of requests grows.
        var recoveringSince: NIODeadline?
        var recoveredAt = NIODeadline.uptimeNanoseconds(0)

        init(rules: HealthRules) {
            ejection = Ejection(rules: rules)
            circuit = CircuitBreaker(rules: rules)
        }

        var isInRotation: Bool { isReady && ejection.until == nil }

        /// The last recovery, ejection or circuit change; results of earlier requests are ignored.
        var since: NIODeadline { max(recoveredAt, ejection.since, circuit.since) }

        var healthStatus: HealthStatus {
            HealthStatus(isReady: isReady, isEjected: ejection.until != nil, circuit: circuit.state)
        }
    }

    /// Conditions that distinguish an instance from a healthy one.
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

    /// Whether the instance is in rotation, its circuit is closed, and it is not recovering.
    var isHealthy: Bool { flags.load(ordering: .relaxed) & Flags.choosing == 0 }

    var healthStatus: HealthStatus { state.withLock(\.healthStatus) }

    /// The last reported process history; nil before the first report.
    var history: InstanceHistory? { lastHistory.withLock { $0 } }

    func recordHistory(_ history: InstanceHistory?) {
        guard let history else { return }
        lastHistory.withLock { $0 = history }
    }

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

    /// Applies the passing of time: ejections and recoveries end, and open circuits become half-open.
    func advance(_ now: NIODeadline) {
        guard !isHealthy else { return }
        update { advance(&$0, now) }
    }

    private func advance(_ state: inout State, _ now: NIODeadline) {
        state.circuit.advance(now)
        if let end = state.ejection.advance(now) { beginRecovery(&state, end) }
        if let since = state.recoveringSince, now - since >= rules.slowStartTime { state.recoveringSince = nil }
    }

    /// Returns whether a request may go to this instance; `chance` is a random number from 0 up to 1.
    func admission(now: NIODeadline, chance: Double) -> Admission {
        update { state in
            advance(&state, now)
            switch state.circuit.state {
            case .open: return .refused(until: state.circuit.openUntil)
            // A probe in progress may close the circuit at any moment.
            case .halfOpen where !state.circuit.hasProbe(now): return .refused(until: now)
            case .halfOpen, .closed: break
            }
            guard state.isInRotation else { return .fallback }
            guard let since = state.recoveringSince else { return .inRotation }
            let share = Double((now - since).nanoseconds) / Double(max(1, rules.slowStartTime.nanoseconds))
            return chance < max(0.1, share) ? .inRotation : .fallback
        }
    }

    /// Admits a request; returns false when the last probe has been used meanwhile.
    func enter(now: NIODeadline) -> Bool {
        isHealthy || update { $0.circuit.enter(now) }
    }

    // MARK: Results of requests

    /// Records the requests that one event loop has sent since its last report.
    func sent(_ requests: Int, now: NIODeadline) {
        guard requests > 0 else { return }
        state.withLock { $0.circuit.sent(requests, now) }
    }

    func succeeded(began: NIODeadline, now: @autoclosure () -> NIODeadline) {
        guard flags.load(ordering: .relaxed) & Flags.succeeding != 0 else { return }
        let now = now()
        update { state in
            state.ejection.succeeded()
            state.circuit.recordResponse()
            recordProbeResponse(&state, began: began, now: now)
        }
    }

    func failed(_ failure: Failure, began: NIODeadline, now: NIODeadline) {
        metrics.failed(failure)
        update { state in
            guard began >= state.since else { return }
            switch failure {
            case .unanswered: state.circuit.recordUnansweredRequest(now)
            case .errorStatus:
                state.circuit.recordResponse()
                recordProbeResponse(&state, began: began, now: now)
            }
            state.ejection.failed(isInRotation: state.isInRotation, now)
        }
    }

    private func recordProbeResponse(_ state: inout State, began: NIODeadline, now: NIODeadline) {
        guard began >= state.since else { return }
        if state.circuit.recordProbeResponse() { beginRecovery(&state, now) }
    }

    /// Starts the recovery, in which the share of requests grows.
    private func beginRecovery(_ state: inout State, _ now: NIODeadline) {
        if state.isInRotation { state.recoveringSince = now }
        state.recoveredAt = now
    }

    // MARK: Results of checks

    func recordCheck(_ outcome: ReadyProbe.Outcome, now: NIODeadline) {
        guard outcome != .ready || !isHealthy || state.withLock({ $0.missedChecks > 0 }) else { return }
        update { state in
            advance(&state, now)
            switch outcome {
            case .ready:
                // An unreachable instance that is back, perhaps after a restart, does not wait for the open time.
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
