import Foundation
import Testing

@testable import PushServer

@Suite struct CircuitTests {
    private static let now = PipelineScene.noon

    private static func words(
        answered: Int = 0,
        busy: Int = 0,
        isMisconfigured: Bool = false,
        retryAfter: TimeInterval? = nil
    ) -> Circuit.Words {
        Circuit.Words(
            answered: answered,
            busy: busy,
            isMisconfigured: isMisconfigured,
            retryAfter: retryAfter,
            reason: "why"
        )
    }

    @Test func eightFailuresInARowOpenIt() {
        var circuit = Circuit()
        circuit = circuit.after(Self.words(busy: 5), at: Self.now, jitter: 0)
        circuit = circuit.after(Self.words(answered: 1, busy: 5), at: Self.now, jitter: 0)
        circuit = circuit.after(Self.words(busy: 7), at: Self.now, jitter: 0)
        #expect(!circuit.isOpen && circuit.failures == 7)

        circuit = circuit.after(Self.words(busy: 1), at: Self.now, jitter: 0.5)

        #expect(circuit.isOpen && circuit.openings == 1 && circuit.reason == "why")
        #expect(circuit.retryAt == Self.now.addingTimeInterval(2))
        #expect(circuit.room(of: 100, at: Self.now) == 0)
    }

    @Test func whatWasOnItsWayChangesNothing() {
        let open = Circuit().after(Self.words(busy: 8), at: Self.now, jitter: 0)

        #expect(open.after(Self.words(answered: 3), at: Self.now, jitter: 0) == open)
        #expect(open.after(Self.words(busy: 300), at: Self.now, jitter: 0).retryAt == open.retryAt)
    }

    @Test func eachTrialThatFailsIsFollowedByALongerPause() throws {
        var circuit = Circuit().after(Self.words(busy: 8), at: Self.now, jitter: 0.5)
        var pauses: [TimeInterval] = []
        for _ in 1...7 {
            let now = try #require(circuit.retryAt)
            #expect(!circuit.mayBeProbed(at: now.addingTimeInterval(-0.1)) && circuit.mayBeProbed(at: now))
            circuit.probeUntil = now.addingTimeInterval(Circuit.probe)
            #expect(!circuit.mayBeProbed(at: now))
            circuit = circuit.after(Self.words(busy: 1), at: now, jitter: 0.5)
            pauses.append(try #require(circuit.retryAt).timeIntervalSince(now))
        }

        #expect(pauses == [4, 8, 16, 32, 60, 60, 60])
        #expect(circuit.openedAt == Self.now)
    }

    @Test func aTrialThatIsAnsweredClosesItAndLittleIsSentAtFirst() {
        var circuit = Circuit().after(Self.words(busy: 8), at: Self.now, jitter: 0)
        circuit.probeUntil = Self.now.addingTimeInterval(Circuit.probe)

        circuit = circuit.after(Self.words(answered: 1), at: Self.now, jitter: 0)

        #expect(!circuit.isOpen && circuit.failures == 0 && circuit.openings == 0)
        let rooms = [0, 1, 2, 5, 8, 60].map { circuit.room(of: 1_000, at: Self.now.addingTimeInterval($0)) }
        #expect(rooms == [4, 8, 16, 128, 1_000, 1_000])
        #expect(!circuit.isWell(at: Self.now) && circuit.isWell(at: Self.now.addingTimeInterval(61)))
    }

    @Test func aPushServiceSaysHowLongItIsToBeLeftAlone() {
        let circuit = Circuit().after(Self.words(answered: 9, busy: 1, retryAfter: 90), at: Self.now, jitter: 0)
        let patient = Circuit().after(Self.words(busy: 1, retryAfter: 1e9), at: Self.now, jitter: 0)

        #expect(circuit.isOpen && circuit.retryAt == Self.now.addingTimeInterval(90))
        #expect(patient.retryAt == Self.now.addingTimeInterval(3_600))
    }

    @Test func credentialsThatAreRefusedOpenItAtOnce() {
        let circuit = Circuit().after(Self.words(answered: 5, isMisconfigured: true), at: Self.now, jitter: 0)

        #expect(circuit.isOpen && circuit.openings == 1)
    }
}
