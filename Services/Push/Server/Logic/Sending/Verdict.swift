import Foundation
import PushAPI
import PushProviders

/// What follows from a push service's answer: for the row in the queue, for the device, and for the lane.
struct Verdict: Sendable {
    enum Fate: Hashable, Sendable {
        /// It leaves the queue for the log.
        case ends(NotificationRecord.Outcome, reason: String?, receipt: String?)
        /// The same, and the operator can look at it and have it sent once more.
        case fails(reason: String?)
        /// It is sent again then.
        case returns(Date, reason: String?, isCounted: Bool, otherEnvironment: Bool)
    }

    enum DeviceChange: Hashable, Sendable {
        /// It is gone, unless it was registered later than that.
        case remove(registeredBy: Date)
        case disable(String)
        /// The token is good in this environment, and not in the one it was registered for.
        case move(DevicePlatform)
    }

    enum Word: Hashable, Sendable {
        case answered
        case busy(retryAfter: TimeInterval?)
        case misconfigured
    }

    var fate: Fate
    var device: DeviceChange?
    /// Nil: nothing was sent.
    var word: Word?
}

/// What each answer of a push service leads to (reference/seeds-push-photo.md, section 2).
struct Verdicts: Sendable {
    /// Sent so often without success, a notification is a failure.
    let maximumAttempts: Int

    /// How often something is tried whose token was registered anew after it is said to be gone.
    private static let unlikely = 3
    private static let longestPause: TimeInterval = 600
    private static let longestAsked: TimeInterval = 3_600

    /// On what was sent at `sentAt`; `jitter`, 0..<1, keeps those that failed together from coming back together.
    func verdict(on reply: PushReply, to claimed: Claimed, sentAt: Date, now: Date, jitter: Double) -> Verdict {
        let reason = reply.reason ?? reply.status.map { "status \($0)" }
        let pause = max(Self.pause(after: claimed.attempts, jitter: jitter), Self.asked(reply) ?? 0)
        func again(_ word: Verdict.Word, _ reason: String?) -> Verdict {
            guard claimed.attempts < maximumAttempts else {
                return Verdict(fate: .fails(reason: reason ?? "attempts_exhausted"), word: word)
            }
            let due = now.addingTimeInterval(pause)
            return Verdict(
                fate: .returns(due, reason: reason, isCounted: true, otherEnvironment: claimed.otherEnvironment),
                word: word
            )
        }
        switch reply.outcome {
        case .accepted:
            let isMoved = claimed.otherEnvironment
            return Verdict(
                fate: .ends(.sent, reason: nil, receipt: reply.receipt),
                device: isMoved ? claimed.device?.platform.otherEnvironment.map(Verdict.DeviceChange.move) : nil,
                word: .answered
            )
        case .unregistered(let since):
            let last = since ?? sentAt
            if let device = claimed.device, device.registeredAt > last, claimed.attempts < Self.unlikely {
                return again(.answered, reason)
            }
            return Verdict(
                fate: .ends(.failed, reason: reason ?? "unregistered", receipt: nil),
                device: .remove(registeredBy: last),
                word: .answered
            )
        case .wrongEnvironment:
            guard !claimed.otherEnvironment, claimed.device?.platform.otherEnvironment != nil else {
                return disabled("bad_token", reason)
            }
            return Verdict(
                fate: .returns(now, reason: reason, isCounted: false, otherEnvironment: true),
                word: .answered
            )
        case .wrongApp:
            return disabled("wrong_app", reason)
        case .refused:
            return Verdict(fate: .fails(reason: reason ?? "refused"), word: .answered)
        case .tooLarge:
            return Verdict(fate: .fails(reason: reason ?? "too_large"), word: .answered)
        case .targetBusy:
            return again(.answered, reason)
        case .providerBusy:
            return again(.busy(retryAfter: Self.asked(reply)), reason)
        case .misconfigured:
            return Verdict(
                fate: .returns(
                    now,
                    reason: reason,
                    isCounted: false,
                    otherEnvironment: claimed.otherEnvironment
                ),
                word: .misconfigured
            )
        }
    }

    /// What becomes of a row before anything is sent; nil where it is to be sent.
    func verdict(before claimed: Claimed, now: Date) -> Verdict? {
        func ended(_ outcome: NotificationRecord.Outcome, _ reason: String?) -> Verdict {
            Verdict(fate: .ends(outcome, reason: reason, receipt: nil))
        }
        if claimed.isCancelled { return ended(.cancelled, nil) }
        if let expires = claimed.message.expires, expires <= now { return ended(.expired, nil) }
        if claimed.isTooSoon { return ended(.withheld, WithholdingReason.cooldown.rawValue) }
        if claimed.device == nil { return ended(.failed, "device_gone") }
        return nil
    }

    private func disabled(_ why: String, _ reason: String?) -> Verdict {
        Verdict(fate: .ends(.failed, reason: reason ?? why, receipt: nil), device: .disable(why), word: .answered)
    }

    /// One second, then twice as long each time, ten minutes at most; somewhere in its upper half.
    private static func pause(after attempts: Int, jitter: Double) -> TimeInterval {
        let whole = min(longestPause, Double(1 << min(max(attempts - 1, 0), 12)))
        return whole * (0.5 + 0.5 * jitter)
    }

    private static func asked(_ reply: PushReply) -> TimeInterval? {
        reply.retryAfter.map { min(Double($0.components.seconds), longestAsked) }
    }
}

extension DevicePlatform {
    /// Where a token of Apple's may be good too.
    var otherEnvironment: DevicePlatform? {
        switch self {
        case .iosSandbox: .iosProduction
        case .iosProduction: .iosSandbox
        case .gcm, .web: nil
        }
    }
}
