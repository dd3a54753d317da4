import NIOCore
import Testing

@testable import GatewayServer

/// Ejection, circuit and recovery of an instance, with a clock that the test controls.
@Suite("Health of instances") struct InstanceHealthTests {
    private let health: InstanceHealth

    init() throws {
        health = InstanceHealth(
            instance: try UpstreamInstance(url: "http://127.0.0.1:1"),
            service: "auth",
            rules: HealthRules()
        )
    }

    private func at(_ seconds: Double) -> NIODeadline {
        .uptimeNanoseconds(UInt64((1_000 + seconds) * 1_000_000_000))
    }

    private func fail(_ count: Int, _ failure: InstanceHealth.Failure, at seconds: Double) {
        for _ in 0..<count { health.failed(failure, began: at(seconds), now: at(seconds)) }
    }

    private func admission(at seconds: Double, chance: Double = 0.999) -> InstanceHealth.Admission {
        health.admission(now: at(seconds), chance: chance)
    }

    // MARK: Ejection

    @Test("Five consecutive error statuses eject an instance")
    func consecutiveErrorsEject() {
        fail(4, .errorStatus, at: 0)
        health.succeeded(began: at(0), now: at(0))
        fail(4, .errorStatus, at: 0)
        #expect(health.isHealthy)
        fail(1, .errorStatus, at: 0)
        #expect(!health.isHealthy)
        #expect(admission(at: 4.9) == .fallback)
        #expect(health.healthStatus == .init(isReady: true, isEjected: true, circuit: .closed))
    }

    @Test("An instance that returns gets a growing share of requests")
    func slowStart() {
        fail(5, .errorStatus, at: 0)
        // Ejected until 5 s, then a tenth of its share, and the whole share at 15 s.
        #expect(admission(at: 5, chance: 0.05) == .inRotation)
        #expect(admission(at: 5, chance: 0.15) == .fallback)
        #expect(admission(at: 10, chance: 0.45) == .inRotation)
        #expect(admission(at: 10, chance: 0.55) == .fallback)
        #expect(admission(at: 15) == .inRotation)
        #expect(health.isHealthy)
    }

    @Test("Repeated ejections get longer, up to a minute, until the instance was good for long enough")
    func ejectionBackoff() {
        var now = 0.0
        for length in [5.0, 10, 20, 40, 60, 60] {
            fail(5, .errorStatus, at: now)
            #expect(admission(at: now + length - 0.1, chance: 0) == .fallback)
            now += length
            #expect(admission(at: now, chance: 0) == .inRotation)
        }
        // After a good time longer than the longest ejection, the next one is short again.
        now += 61
        fail(5, .errorStatus, at: now)
        #expect(admission(at: now + 5, chance: 0) == .inRotation)
    }

    @Test("Failures that began before the ejection do not eject again")
    func staleFailures() {
        fail(5, .errorStatus, at: 0)
        #expect(admission(at: 20) == .inRotation)
        for _ in 0..<10 { health.failed(.unanswered, began: at(1), now: at(21)) }
        #expect(admission(at: 21) == .inRotation)
    }

    // MARK: Circuit

    @Test("Five requests without a response open the circuit")
    func consecutiveFailuresOpenCircuit() {
        fail(5, .unanswered, at: 0)
        #expect(health.healthStatus.circuit == .open)
        #expect(admission(at: 0.1) == .refused(until: at(0.5)))
        #expect(!health.enter(now: at(0.1)))
    }

    @Test("Error statuses do not open the circuit")
    func errorStatusesKeepCircuitClosed() {
        fail(1_000, .errorStatus, at: 0)
        #expect(health.healthStatus.circuit == .closed)
        #expect(admission(at: 0) == .fallback)
    }

    @Test("A half-open circuit admits three probes, and closes when all succeed")
    func halfOpenProbes() {
        fail(5, .unanswered, at: 0)
        let probes = (0..<10).count { _ in
            if case .refused = admission(at: 1) { return false }
            return health.enter(now: at(1))
        }
        #expect(probes == 3)
        #expect(health.healthStatus.circuit == .halfOpen)
        #expect(admission(at: 1) == .refused(until: at(1)))
        for _ in 0..<2 { health.succeeded(began: at(1), now: at(1.2)) }
        #expect(health.healthStatus.circuit == .halfOpen)
        health.succeeded(began: at(1), now: at(1.2))
        #expect(health.healthStatus.circuit == .closed)
    }

    @Test("A failed probe opens the circuit again, for longer each time")
    func failedProbe() {
        var now = 0.0
        fail(5, .unanswered, at: now)
        for length in [0.5, 1, 2, 4, 8, 16, 30, 30] {
            let half = at(now + length)
            #expect(admission(at: now) == .refused(until: half))
            now += length
            health.advance(at(now))
            #expect(health.healthStatus.circuit == .halfOpen)
            fail(1, .unanswered, at: now)
            #expect(health.healthStatus.circuit == .open)
        }
    }

    @Test("Probes without a result are replaced after five seconds")
    func lostProbes() {
        fail(5, .unanswered, at: 0)
        health.advance(at(1))
        for _ in 0..<3 { #expect(health.enter(now: at(1))) }
        #expect(!health.enter(now: at(5.9)))
        #expect(health.enter(now: at(6)))
    }

    @Test("Responses to requests from before the circuit opened do not close it")
    func staleResponse() {
        fail(5, .unanswered, at: 1)
        health.advance(at(2))
        for _ in 0..<10 { health.succeeded(began: at(0.5), now: at(2.1)) }
        #expect(health.healthStatus.circuit == .halfOpen)
    }

    @Test("Half of at least twenty requests without a response open the circuit")
    func failureRatioOpensCircuit() {
        for second in 0..<9 {
            health.sent(2, now: at(Double(second)))
            fail(1, .unanswered, at: Double(second))
            health.succeeded(began: at(Double(second)), now: at(Double(second)))
        }
        #expect(health.healthStatus.circuit == .closed)
        health.sent(2, now: at(9))
        fail(1, .unanswered, at: 9)
        #expect(health.healthStatus.circuit == .open)
    }

    // MARK: Checks

    @Test("An instance that is not ready gets no requests while others can take them")
    func notReadyInstance() {
        health.recordCheck(.notReady, now: at(0))
        #expect(admission(at: 0) == .fallback)
        health.recordCheck(.ready, now: at(1))
        #expect(admission(at: 1, chance: 0) == .inRotation)
        #expect(admission(at: 12) == .inRotation)
        #expect(health.isHealthy)
    }

    @Test("Two lost checks in a row count as no response")
    func singleLostCheck() {
        health.recordCheck(.noResponse, now: at(0))
        #expect(health.isHealthy)
        health.recordCheck(.noResponse, now: at(1))
        #expect(!health.isResponding)
        #expect(admission(at: 1) == .fallback)
    }

    @Test("A ready check after lost ones puts the instance back at once")
    func recovery() {
        for second in 0..<5 { health.recordCheck(.noResponse, now: at(Double(second))) }
        #expect(health.healthStatus.circuit == .open)
        health.recordCheck(.ready, now: at(4.1))
        #expect(health.healthStatus == .init())
        #expect(admission(at: 4.1, chance: 0) == .inRotation)
        #expect(health.isResponding)
    }

    @Test("A ready check after a lost one half-opens the circuit")
    func missedCheck() {
        fail(5, .unanswered, at: 0)
        health.recordCheck(.noResponse, now: at(0.1))
        health.recordCheck(.ready, now: at(0.2))
        #expect(health.healthStatus.circuit == .halfOpen)
    }

    @Test("A ready check alone does not close the circuit")
    func checkKeepsCircuitOpen() {
        fail(5, .unanswered, at: 0)
        health.recordCheck(.ready, now: at(0.1))
        #expect(health.healthStatus.circuit == .open)
    }
}

@Suite("Retry budget") struct RetryBudgetTests {
    private func at(_ seconds: Int) -> NIODeadline { .uptimeNanoseconds(UInt64(1_000 + seconds) * 1_000_000_000) }

    @Test("At most about a fifth of requests are retried")
    func retryBudget() {
        let budget = RetryBudget()
        let allowed = (0..<1_000).count { number in
            budget.earn(1, now: at(number / 200))
            return budget.spend(now: at(number / 200))
        }
        #expect((190...200).contains(allowed))
    }

    @Test("The budget expires after ten seconds, and two retries are always allowed")
    func expiredRetryBudget() {
        let budget = RetryBudget()
        budget.earn(1_000, now: at(0))
        #expect(budget.spend(now: at(9)))
        #expect(budget.spend(now: at(10)))
        #expect(!budget.spend(now: at(10)))
        // Later there are two again.
        #expect((0..<10).count { _ in budget.spend(now: at(30)) } == 2)
    }
}
