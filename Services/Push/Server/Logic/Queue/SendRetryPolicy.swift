import Foundation
import PushAPI
import PushProviders

/// The mapping from a provider's reply to a decision (reference/seeds-push-photo.md, section 2).
struct SendRetryPolicy: Sendable {
    /// The number of attempts after which a notification is a failure.
    let maximumAttempts: Int

    /// The attempts for a device that registered again after the time at which the provider lost its token.
    private static let staleTokenAttempts = 3
    private static let maximumDelay: TimeInterval = 600
    private static let maximumRequestedDelay: TimeInterval = 3_600

    /// Returns the decision about a notification that was sent at `sentAt`.
    ///
    /// `jitter`, 0..<1, spreads the retries of notifications that failed together.
    func decision(
        on reply: PushReply,
        to claimed: ClaimedEntry,
        sentAt: Date,
        now: Date,
        jitter: Double
    ) -> SendDecision {
        let reason = reply.reason ?? reply.status.map { "status \($0)" }
        let delay = max(Self.delay(after: claimed.attempts, jitter: jitter), Self.requestedDelay(reply) ?? 0)
        func retryLater(_ providerStatus: SendDecision.ProviderStatus, _ reason: String?) -> SendDecision {
            guard claimed.attempts < maximumAttempts else {
                return SendDecision(
                    queueAction: .fail(reason: reason ?? "attempts_exhausted"),
                    providerStatus: providerStatus
                )
            }
            let due = now.addingTimeInterval(delay)
            return SendDecision(
                queueAction: .retry(
                    due,
                    reason: reason,
                    countsAttempt: true,
                    otherEnvironment: claimed.otherEnvironment
                ),
                providerStatus: providerStatus
            )
        }
        switch reply.outcome {
        case .accepted:
            let isMoved = claimed.otherEnvironment
            return SendDecision(
                queueAction: .finish(.sent, reason: nil, receipt: reply.receipt),
                device: isMoved ? claimed.device?.platform.otherEnvironment.map(SendDecision.DeviceChange.move) : nil,
                providerStatus: .responded
            )
        case .unregistered(let since):
            let last = since ?? sentAt
            if let device = claimed.device, device.registeredAt > last, claimed.attempts < Self.staleTokenAttempts {
                return retryLater(.responded, reason)
            }
            return SendDecision(
                queueAction: .finish(.failed, reason: reason ?? "unregistered", receipt: nil),
                device: .remove(registeredBy: last),
                providerStatus: .responded
            )
        case .wrongEnvironment:
            guard !claimed.otherEnvironment, claimed.device?.platform.otherEnvironment != nil else {
                return disabled("bad_token", reason)
            }
            return SendDecision(
                queueAction: .retry(now, reason: reason, countsAttempt: false, otherEnvironment: true),
                providerStatus: .responded
            )
        case .wrongApp:
            return disabled("wrong_app", reason)
        case .refused:
            return SendDecision(queueAction: .fail(reason: reason ?? "refused"), providerStatus: .responded)
        case .tooLarge:
            return SendDecision(queueAction: .fail(reason: reason ?? "too_large"), providerStatus: .responded)
        case .targetBusy:
            return retryLater(.responded, reason)
        case .providerBusy:
            return retryLater(.busy(retryAfter: Self.requestedDelay(reply)), reason)
        case .misconfigured:
            return SendDecision(
                queueAction: .retry(
                    now,
                    reason: reason,
                    countsAttempt: false,
                    otherEnvironment: claimed.otherEnvironment
                ),
                providerStatus: .misconfigured
            )
        }
    }

    /// Returns the decision about a notification that must not be sent; nil if it can be sent.
    func decision(before claimed: ClaimedEntry, now: Date) -> SendDecision? {
        func finished(_ outcome: NotificationRecord.Outcome, _ reason: String?) -> SendDecision {
            SendDecision(queueAction: .finish(outcome, reason: reason, receipt: nil))
        }
        if claimed.isCancelled { return finished(.cancelled, nil) }
        if let expires = claimed.message.expires, expires <= now { return finished(.expired, nil) }
        if claimed.isInCooldown { return finished(.withheld, WithholdingReason.cooldown.rawValue) }
        if claimed.device == nil { return finished(.failed, "device_gone") }
        return nil
    }

    private func disabled(_ defaultReason: String, _ reason: String?) -> SendDecision {
        SendDecision(
            queueAction: .finish(.failed, reason: reason ?? defaultReason, receipt: nil),
            device: .disable(defaultReason),
            providerStatus: .responded
        )
    }

    /// Returns 1 s, doubled with each attempt up to 600 s, reduced by up to half by `jitter`.
    private static func delay(after attempts: Int, jitter: Double) -> TimeInterval {
        let base = min(maximumDelay, Double(1 << min(max(attempts - 1, 0), 12)))
        return base * (0.5 + 0.5 * jitter)
    }

    private static func requestedDelay(_ reply: PushReply) -> TimeInterval? {
        reply.retryAfter.map { min(Double($0.components.seconds), maximumRequestedDelay) }
    }
}

extension DevicePlatform {
    /// The other APNs environment, in which the token may be valid.
    var otherEnvironment: DevicePlatform? {
        switch self {
        case .iosSandbox: .iosProduction
        case .iosProduction: .iosSandbox
        case .gcm, .web: nil
        }
    }
}
