import Foundation
import PushAPI
import PushProviders
import Testing

@testable import PushServer

@Suite struct VerdictTests {
    private static let now = PipelineScene.noon
    private static let verdicts = Verdicts(maximumAttempts: 3)

    private static func claimed(
        _ platform: DevicePlatform = .iosProduction,
        attempts: Int = 1,
        otherEnvironment: Bool = false
    ) -> Claimed {
        Claimed(
            entry: Lane.Entry(user: PipelineScene.user("ann"), id: 1),
            lane: Lane(application: "acme", service: "apns-production"),
            notification: 1,
            kind: .message,
            broadcaster: nil,
            message: PushMessage(id: UUID()),
            device: Claimed.Device(
                key: 1,
                id: "phone",
                platform: platform,
                target: .fcm(token: "t"),
                token: "t",
                registeredAt: now.addingTimeInterval(-10)
            ),
            attempts: attempts,
            isRepeated: false,
            otherEnvironment: otherEnvironment,
            isCancelled: false,
            isTooSoon: false
        )
    }

    private static func verdict(on reply: PushReply, _ claimed: Claimed = claimed()) -> Verdict {
        verdicts.verdict(on: reply, to: claimed, sentAt: now.addingTimeInterval(-1), now: now, jitter: 0)
    }

    @Test func pausesGrowAndArePartlyOfChance() {
        func due(_ attempts: Int, jitter: Double) -> TimeInterval? {
            let patient = Verdicts(maximumAttempts: 100)
            let verdict = patient.verdict(
                on: PushReply(.targetBusy),
                to: Self.claimed(attempts: attempts),
                sentAt: Self.now,
                now: Self.now,
                jitter: jitter
            )
            guard case .returns(let due, _, true, false) = verdict.fate else { return nil }
            return due.timeIntervalSince(Self.now)
        }

        #expect([1, 2, 3, 10, 11, 50].map { due($0, jitter: 1) } == [1, 2, 4, 512, 600, 600])
        #expect(due(3, jitter: 0) == 2)
    }

    @Test func aDeviceThatIsBusyIsLeftAloneForAsLongAsItsServiceAsks() {
        let verdict = Self.verdict(on: PushReply(.targetBusy, reason: "TooManyRequests", retryAfter: .seconds(30)))

        let due = Self.now.addingTimeInterval(30)
        #expect(
            verdict.fate == .returns(due, reason: "TooManyRequests", isCounted: true, otherEnvironment: false)
        )
        #expect(verdict.word == .answered && verdict.device == nil)
    }

    @Test func aServiceThatIsBusyIsSaidToBe() {
        let verdict = Self.verdict(on: PushReply(.providerBusy, status: 503, retryAfter: .seconds(7)))

        #expect(verdict.word == .busy(retryAfter: 7))
        #expect(verdict.device == nil)
    }

    @Test func tooManyAttemptsAreAFailure() {
        let verdict = Self.verdict(on: PushReply(.providerBusy, status: 500), Self.claimed(attempts: 3))

        #expect(verdict.fate == .fails(reason: "status 500"))
    }

    @Test func whatIsOurFaultKeepsTheDevice() {
        for (outcome, reason) in [(PushOutcome.refused, "BadTopic"), (.tooLarge, "PayloadTooLarge")] {
            let verdict = Self.verdict(on: PushReply(outcome, reason: reason))

            #expect(verdict.fate == .fails(reason: reason) && verdict.device == nil)
        }
    }

    @Test func credentialsThatAreRefusedCountAgainstNothing() {
        let verdict = Self.verdict(on: PushReply(.misconfigured, status: 403, reason: "InvalidProviderToken"))

        #expect(
            verdict.fate
                == .returns(Self.now, reason: "InvalidProviderToken", isCounted: false, otherEnvironment: false)
        )
        #expect(verdict.word == .misconfigured && verdict.device == nil)
    }

    @Test func whoIsGoneSinceIsForgottenUnlessRegisteredLater() {
        let since = Self.now.addingTimeInterval(-5)
        #expect(Self.verdict(on: PushReply(.unregistered(since: since))).device == .remove(registeredBy: since))

        let earlier = Self.now.addingTimeInterval(-60)
        let kept = Self.verdict(on: PushReply(.unregistered(since: earlier)))
        #expect(kept.device == nil)
        let last = Self.verdict(on: PushReply(.unregistered(since: earlier)), Self.claimed(attempts: 3))
        #expect(last.fate == .ends(.failed, reason: "unregistered", receipt: nil))

        let unsaid = Self.verdict(on: PushReply(.unregistered(since: nil)))
        #expect(unsaid.device == .remove(registeredBy: Self.now.addingTimeInterval(-1)))
    }

    @Test func onlyApplesTokensHaveAnotherEnvironment() {
        #expect(Self.verdict(on: PushReply(.wrongEnvironment), Self.claimed(.gcm)).device == .disable("bad_token"))
        let moved = Self.verdict(on: PushReply(.accepted), Self.claimed(.iosSandbox, otherEnvironment: true))
        #expect(moved.device == .move(.iosProduction))
    }
}
