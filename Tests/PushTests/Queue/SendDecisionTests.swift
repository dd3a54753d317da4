import Foundation
import PushAPI
import PushProviders
import Testing

@testable import PushServer

@Suite("Send decisions") struct SendDecisionTests {
    private static let now = PipelineFixture.noon
    private static let retryPolicy = SendRetryPolicy(maximumAttempts: 3)

    private static func claimed(
        _ platform: DevicePlatform = .iosProduction,
        attempts: Int = 1,
        otherEnvironment: Bool = false
    ) -> ClaimedEntry {
        ClaimedEntry(
            entry: ProviderQueue.Entry(user: PipelineFixture.user("ann"), id: 1),
            queue: ProviderQueue(application: "acme", service: "apns-production"),
            notification: 1,
            kind: .message,
            broadcaster: nil,
            message: PushMessage(id: UUID()),
            device: ClaimedEntry.Device(
                key: 1,
                id: "phone",
                platform: platform,
                target: .fcm(token: "t"),
                token: "t",
                registeredAt: now.addingTimeInterval(-10)
            ),
            attempts: attempts,
            isResend: false,
            otherEnvironment: otherEnvironment,
            isCancelled: false,
            isInCooldown: false
        )
    }

    private static func decision(on reply: PushReply, _ claimed: ClaimedEntry = claimed()) -> SendDecision {
        retryPolicy.decision(on: reply, to: claimed, sentAt: now.addingTimeInterval(-1), now: now, jitter: 0)
    }

    @Test("The retry delay doubles up to ten minutes, with jitter")
    func backoff() {
        func due(_ attempts: Int, jitter: Double) -> TimeInterval? {
            let policy = SendRetryPolicy(maximumAttempts: 100)
            let decision = policy.decision(
                on: PushReply(.targetBusy),
                to: Self.claimed(attempts: attempts),
                sentAt: Self.now,
                now: Self.now,
                jitter: jitter
            )
            guard case .retry(let due, _, true, false) = decision.queueAction else { return nil }
            return due.timeIntervalSince(Self.now)
        }

        #expect([1, 2, 3, 10, 11, 50].map { due($0, jitter: 1) } == [1, 2, 4, 512, 600, 600])
        #expect(due(3, jitter: 0) == 2)
    }

    @Test("A busy device is retried after its Retry-After, and its provider counts as responding")
    func busyDevice() {
        let decision = Self.decision(on: PushReply(.targetBusy, reason: "TooManyRequests", retryAfter: .seconds(30)))

        let due = Self.now.addingTimeInterval(30)
        #expect(
            decision.queueAction == .retry(due, reason: "TooManyRequests", countsAttempt: true, otherEnvironment: false)
        )
        #expect(decision.providerStatus == .responded)
        #expect(decision.device == nil)
    }

    @Test("A busy provider is reported with its Retry-After, and the device is kept")
    func busyProvider() {
        let decision = Self.decision(on: PushReply(.providerBusy, status: 503, retryAfter: .seconds(7)))

        #expect(decision.providerStatus == .busy(retryAfter: 7))
        #expect(decision.device == nil)
    }

    @Test("The last attempt fails the notification")
    func tooManyAttempts() {
        let decision = Self.decision(on: PushReply(.providerBusy, status: 500), Self.claimed(attempts: 3))

        #expect(decision.queueAction == .fail(reason: "status 500"))
    }

    @Test("A refused notification fails, and its device is kept")
    func refused() {
        for (outcome, reason) in [(PushOutcome.refused, "BadTopic"), (.tooLarge, "PayloadTooLarge")] {
            let decision = Self.decision(on: PushReply(outcome, reason: reason))

            #expect(decision.queueAction == .fail(reason: reason))
            #expect(decision.device == nil)
        }
    }

    @Test("A misconfigured provider is retried without counting the attempt")
    func misconfigured() {
        let decision = Self.decision(on: PushReply(.misconfigured, status: 403, reason: "InvalidProviderToken"))

        #expect(
            decision.queueAction
                == .retry(Self.now, reason: "InvalidProviderToken", countsAttempt: false, otherEnvironment: false)
        )
        #expect(decision.providerStatus == .misconfigured)
        #expect(decision.device == nil)
    }

    @Test("An unregistered device is removed, unless it registered after that")
    func unregistered() {
        let since = Self.now.addingTimeInterval(-5)
        #expect(Self.decision(on: PushReply(.unregistered(since: since))).device == .remove(registeredBy: since))

        let earlier = Self.now.addingTimeInterval(-60)
        let kept = Self.decision(on: PushReply(.unregistered(since: earlier)))
        #expect(kept.device == nil)
        let last = Self.decision(on: PushReply(.unregistered(since: earlier)), Self.claimed(attempts: 3))
        #expect(last.queueAction == .finish(.failed, reason: "unregistered", receipt: nil))

        let unsaid = Self.decision(on: PushReply(.unregistered(since: nil)))
        #expect(unsaid.device == .remove(registeredBy: Self.now.addingTimeInterval(-1)))
    }

    @Test("A bad token disables the device, and success in the other environment moves it")
    func otherEnvironment() {
        #expect(Self.decision(on: PushReply(.wrongEnvironment), Self.claimed(.gcm)).device == .disable("bad_token"))
        let moved = Self.decision(on: PushReply(.accepted), Self.claimed(.iosSandbox, otherEnvironment: true))
        #expect(moved.device == .move(.iosProduction))
    }
}
