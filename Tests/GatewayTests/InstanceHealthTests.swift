import NIOCore
import Testing

@testable import GatewayServer

/// When an instance is passed over, left alone and taken back, second by second of a clock that the test turns.
@Suite struct InstanceHealthTests {
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

    @Test func consecutiveErrorsEject() {
        fail(4, .errorStatus, at: 0)
        health.succeeded(began: at(0), now: at(0))
        fail(4, .errorStatus, at: 0)
        #expect(health.isHealthy)
        fail(1, .errorStatus, at: 0)
        #expect(!health.isHealthy)
        #expect(admission(at: 4.9) == .fallback)
        #expect(health.healthStatus == .init(isReady: true, isEjected: true, circuit: .closed))
    }

    @Test func slowStart() {
        fail(5, .errorStatus, at: 0)
        // Ejected until 5, then a tenth at first, and all of its share at 15.
        #expect(admission(at: 5, chance: 0.05) == .inRotation)
        #expect(admission(at: 5, chance: 0.15) == .fallback)
        #expect(admission(at: 10, chance: 0.45) == .inRotation)
        #expect(admission(at: 10, chance: 0.55) == .fallback)
        #expect(admission(at: 15) == .inRotation)
        #expect(health.isHealthy)
    }

    @Test func ejectionBackoff() {
        var now = 0.0
        for length in [5.0, 10, 20, 40, 60, 60] {
            fail(5, .errorStatus, at: now)
            #expect(admission(at: now + length - 0.1, chance: 0) == .fallback)
            now += length
            #expect(admission(at: now, chance: 0) == .inRotation)
        }
        // Good for longer than the longest of them, it begins anew.
        now += 61
        fail(5, .errorStatus, at: now)
        #expect(admission(at: now + 5, chance: 0) == .inRotation)
    }

    @Test func staleFailures() {
        fail(5, .errorStatus, at: 0)
        #expect(admission(at: 20) == .inRotation)
        for _ in 0..<10 { health.failed(.unanswered, began: at(1), now: at(21)) }
        #expect(admission(at: 21) == .inRotation)
    }

    // MARK: The circuit

    @Test func consecutiveFailuresOpenCircuit() {
        fail(5, .unanswered, at: 0)
        #expect(health.healthStatus.circuit == .open)
        #expect(admission(at: 0.1) == .refused(until: at(0.5)))
        #expect(!health.enter(now: at(0.1)))
    }

    @Test func errorStatusesKeepCircuitClosed() {
        fail(1_000, .errorStatus, at: 0)
        #expect(health.healthStatus.circuit == .closed)
        #expect(admission(at: 0) == .fallback)
    }

    @Test func halfOpenProbes() {
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

    @Test func failedProbe() {
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

    @Test func lostProbes() {
        fail(5, .unanswered, at: 0)
        health.advance(at(1))
        for _ in 0..<3 { #expect(health.enter(now: at(1))) }
        #expect(!health.enter(now: at(5.9)))
        #expect(health.enter(now: at(6)))
    }

    @Test func staleResponse() {
        fail(5, .unanswered, at: 1)
        health.advance(at(2))
        for _ in 0..<10 { health.succeeded(began: at(0.5), now: at(2.1)) }
        #expect(health.healthStatus.circuit == .halfOpen)
    }

    @Test func failureRatioOpensCircuit() {
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

    @Test func notReadyInstance() {
        health.recordCheck(.notReady, now: at(0))
        #expect(admission(at: 0) == .fallback)
        health.recordCheck(.ready, now: at(1))
        #expect(admission(at: 1, chance: 0) == .inRotation)
        #expect(admission(at: 12) == .inRotation)
        #expect(health.isHealthy)
    }

    @Test func singleLostCheck() {
        health.recordCheck(.noResponse, now: at(0))
        #expect(health.isHealthy)
        health.recordCheck(.noResponse, now: at(1))
        #expect(!health.isResponding)
        #expect(admission(at: 1) == .fallback)
    }

    @Test func recovery() {
        for second in 0..<5 { health.recordCheck(.noResponse, now: at(Double(second))) }
        #expect(health.healthStatus.circuit == .open)
        health.recordCheck(.ready, now: at(4.1))
        #expect(health.healthStatus == .init())
        #expect(admission(at: 4.1, chance: 0) == .inRotation)
        #expect(health.isResponding)
    }

    @Test func missedCheck() {
        fail(5, .unanswered, at: 0)
        health.recordCheck(.noResponse, now: at(0.1))
        health.recordCheck(.ready, now: at(0.2))
        #expect(health.healthStatus.circuit == .halfOpen)
    }

    @Test func checkKeepsCircuitOpen() {
        fail(5, .unanswered, at: 0)
        health.recordCheck(.ready, now: at(0.1))
        #expect(health.healthStatus.circuit == .open)
    }
}

@Suite struct RetryBudgetTests {
    private func at(_ seconds: Int) -> NIODeadline { .uptimeNanoseconds(UInt64(1_000 + seconds) * 1_000_000_000) }

    @Test func retryBudget() {
        let budget = RetryBudget()
        let allowed = (0..<1_000).count { number in
            budget.earn(1, now: at(number / 200))
            return budget.spend(now: at(number / 200))
        }
        #expect((190...200).contains(allowed))
    }

    @Test func expiredRetryBudget() {
        let budget = RetryBudget()
        budget.earn(1_000, now: at(0))
        #expect(budget.spend(now: at(9)))
        #expect(budget.spend(now: at(10)))
        #expect(!budget.spend(now: at(10)))
        // A while later, two again.
        #expect((0..<10).count { _ in budget.spend(now: at(30)) } == 2)
    }
}
