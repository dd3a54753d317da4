import Foundation
import Testing

@testable import PushServer

@Suite("Circuit breaker") struct CircuitTests {
    private static let now = PipelineFixture.noon

    private static func statusCounts(
        responded: Int = 0,
        busy: Int = 0,
        isMisconfigured: Bool = false,
        retryAfter: TimeInterval? = nil
    ) -> Circuit.StatusCounts {
        Circuit.StatusCounts(
            responded: responded,
            busy: busy,
            isMisconfigured: isMisconfigured,
            retryAfter: retryAfter,
            reason: "why"
        )
    }

    @Test("Eight busy responses without another response in between open the circuit")
    func opening() {
        var circuit = Circuit()
        circuit = circuit.after(Self.statusCounts(busy: 5), at: Self.now, jitter: 0)
        circuit = circuit.after(Self.statusCounts(responded: 1, busy: 5), at: Self.now, jitter: 0)
        circuit = circuit.after(Self.statusCounts(busy: 7), at: Self.now, jitter: 0)
        #expect(!circuit.isOpen)
        #expect(circuit.failures == 7)

        circuit = circuit.after(Self.statusCounts(busy: 1), at: Self.now, jitter: 0.5)

        #expect(circuit.isOpen)
        #expect(circuit.openings == 1)
        #expect(circuit.reason == "why")
        #expect(circuit.retryAt == Self.now.addingTimeInterval(2))
        #expect(circuit.quota(of: 100, at: Self.now) == 0)
    }

    @Test("Responses that arrive after the circuit opened do not change it")
    func lateResponses() {
        let open = Circuit().after(Self.statusCounts(busy: 8), at: Self.now, jitter: 0)

        #expect(open.after(Self.statusCounts(responded: 3), at: Self.now, jitter: 0) == open)
        #expect(open.after(Self.statusCounts(busy: 300), at: Self.now, jitter: 0).retryAt == open.retryAt)
    }

    @Test("Each failed probe doubles the pause, to at most a minute")
    func failedProbes() throws {
        var circuit = Circuit().after(Self.statusCounts(busy: 8), at: Self.now, jitter: 0.5)
        var pauses: [TimeInterval] = []
        for _ in 1...7 {
            let now = try #require(circuit.retryAt)
            #expect(!circuit.canProbe(at: now.addingTimeInterval(-0.1)))
            #expect(circuit.canProbe(at: now))
            circuit.probeUntil = now.addingTimeInterval(Circuit.probe)
            #expect(!circuit.canProbe(at: now))
            circuit = circuit.after(Self.statusCounts(busy: 1), at: now, jitter: 0.5)
            pauses.append(try #require(circuit.retryAt).timeIntervalSince(now))
        }

        #expect(pauses == [4, 8, 16, 32, 60, 60, 60])
        #expect(circuit.openedAt == Self.now)
    }

    @Test("A successful probe closes the circuit, and the quota grows within seconds")
    func successfulProbe() {
        var circuit = Circuit().after(Self.statusCounts(busy: 8), at: Self.now, jitter: 0)
        circuit.probeUntil = Self.now.addingTimeInterval(Circuit.probe)

        circuit = circuit.after(Self.statusCounts(responded: 1), at: Self.now, jitter: 0)

        #expect(!circuit.isOpen)
        #expect(circuit.failures == 0)
        #expect(circuit.openings == 0)
        let quotas = [0, 1, 2, 5, 8, 60].map { circuit.quota(of: 1_000, at: Self.now.addingTimeInterval($0)) }
        #expect(quotas == [4, 8, 16, 128, 1_000, 1_000])
        #expect(!circuit.isHealthy(at: Self.now))
        #expect(circuit.isHealthy(at: Self.now.addingTimeInterval(61)))
    }

    @Test("A Retry-After opens the circuit for that time, at most an hour")
    func retryAfter() {
        let circuit = Circuit().after(Self.statusCounts(responded: 9, busy: 1, retryAfter: 90), at: Self.now, jitter: 0)
        let capped = Circuit().after(Self.statusCounts(busy: 1, retryAfter: 1e9), at: Self.now, jitter: 0)

        #expect(circuit.isOpen)
        #expect(circuit.retryAt == Self.now.addingTimeInterval(90))
        #expect(capped.retryAt == Self.now.addingTimeInterval(3_600))
    }

    @Test("A misconfigured provider opens the circuit at once")
    func misconfigured() {
        let circuit = Circuit().after(Self.statusCounts(responded: 5, isMisconfigured: true), at: Self.now, jitter: 0)

        #expect(circuit.isOpen)
        #expect(circuit.openings == 1)
    }
}
