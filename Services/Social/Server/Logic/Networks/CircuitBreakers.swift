import Foundation
import Locks
import SocialAPI

/// The circuit breakers of networks, and the waits that networks have demanded.
///
/// The state is per process: another instance finds out on its own, at the cost of a few requests.
final class CircuitBreakers: Sendable {
    /// The number of consecutive failures of a host that opens its circuit.
    static let threshold = 5
    /// The shortest and the longest pause before a probe, in seconds.
    private static let shortest: TimeInterval = 1
    private static let longest: TimeInterval = 60
    /// The longest wait that is accepted from a network, in seconds; some networks send implausible times.
    static let longestWait: TimeInterval = 3_600

    private static let maximumHosts = 10_000

    private struct Circuit {
        var failures = 0
        var openings = 0
        var openUntil: Date?
        var isProbed = false
        var reason = ""
    }

    /// The scope of a network's limit: all accounts of a host, or one account.
    private struct Limited: Hashable {
        var host: NetworkHost
        var account: String?
    }

    private struct State {
        var circuitBreakers: [NetworkHost: Circuit] = [:]
        var waits: [Limited: Date] = [:]
    }

    private let state = Lock(State())
    private let now: @Sendable () -> Date
    private let jitter: @Sendable () -> Double

    init(now: @escaping @Sendable () -> Date, jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }) {
        self.now = now
        self.jitter = jitter
    }

    /// Checks that the source may be called.
    ///
    /// - Throws: `NetworkError` if the circuit is open or the network has demanded a wait.
    func admit(_ source: Source) throws {
        let now = now()
        try state.withLock { state in
            for limited in [Limited(host: source.host), Limited(host: source.host, account: source.key)] {
                guard let end = state.waits[limited] else { continue }
                guard end <= now else {
                    throw NetworkError(.rateLimited(until: end), "the network's rate limit is reached")
                }
                state.waits[limited] = nil
            }
            guard let circuit = state.circuitBreakers[source.host], let end = circuit.openUntil else { return }
            // One request at a time probes whether the host works again.
            guard end <= now, !circuit.isProbed else {
                throw NetworkError(.transient, circuit.reason, code: "circuit_open")
            }
            state.circuitBreakers[source.host]?.isProbed = true
        }
    }

    /// Records a successful response.
    func record(_ budget: Budget?, of source: Source) {
        state.withLock { state in
            state.circuitBreakers[source.host] = nil
            if let budget, budget.remaining <= 0 { wait(budget.resetAt, budget.scope, source, &state) }
        }
    }

    func record(_ error: NetworkError, of source: Source) {
        state.withLock { state in
            switch error.kind {
            case .transient, .unknownOutcome:
                guard error.code != "circuit_open" else { return }
                fail(source.host, error.reason, &state)
            case .rateLimited(let until):
                state.circuitBreakers[source.host] = nil
                wait(until ?? error.budget?.resetAt, error.budget?.scope ?? .account, source, &state)
            // The host responded, so its circuit closes.
            case .auth, .permission, .invalid, .notFound, .unsupported: state.circuitBreakers[source.host] = nil
            }
        }
    }

    /// Ends a probe without a result, because the request was cancelled or not sent.
    func releaseProbe(_ source: Source) {
        state.withLock { $0.circuitBreakers[source.host]?.isProbed = false }
    }

    private func fail(_ host: NetworkHost, _ reason: String, _ state: inout State) {
        var circuit = state.circuitBreakers[host] ?? Circuit()
        circuit.failures += 1
        circuit.reason = reason
        if circuit.isProbed || circuit.openUntil == nil && circuit.failures >= Self.threshold {
            let pause = min(Self.longest, Self.shortest * Double(1 << min(circuit.openings, 10)))
            circuit.openings += 1
            circuit.openUntil = now().addingTimeInterval(pause * (0.8 + 0.4 * jitter()))
            circuit.isProbed = false
        }
        state.circuitBreakers[host] = circuit
        // Users can name hosts too, so the number is bounded: hosts whose circuit is not open are dropped.
        if state.circuitBreakers.count > Self.maximumHosts {
            state.circuitBreakers = state.circuitBreakers.filter { $0.value.openUntil.map { $0 > now() } ?? false }
        }
    }

    private func wait(_ end: Date?, _ scope: Budget.Scope, _ source: Source, _ state: inout State) {
        let now = now()
        // Slightly longer than demanded, because some windows end later than announced.
        let delay = end.flatMap(NetworkTime.plausible).map { $0.timeIntervalSince(now) + 0.5 + jitter() } ?? 60
        let limited = Limited(host: source.host, account: scope == .account ? source.key : nil)
        state.waits[limited] = now.addingTimeInterval(min(max(delay, 1), Self.longestWait))
        if state.waits.count > 100_000 { state.waits = state.waits.filter { $0.value > now } }
    }
}
