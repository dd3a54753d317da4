public import Foundation

/// What came of sending one notification to one device.
public struct PushReply: Hashable, Sendable {
    public var outcome: PushOutcome
    /// The HTTP status of the provider's answer; nil where there was none.
    public var status: Int?
    /// The provider's own word for it, or this library's where there was no answer; for a log, and stable.
    public var reason: String?
    /// What the provider calls the notification it took.
    public var receipt: String?
    /// How long the provider asks to be left alone.
    public var retryAfter: Duration?

    public init(
        _ outcome: PushOutcome,
        status: Int? = nil,
        reason: String? = nil,
        receipt: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.receipt = receipt
        self.retryAfter = retryAfter
    }
}

/// What to do now; each provider's statuses and reasons come down to one of these.
public enum PushOutcome: Hashable, Sendable {
    /// The provider has it. Whether the device ever does, no provider says.
    case accepted
    /// The device is gone: forget it, unless it was registered again after `since`.
    case unregistered(since: Date?)
    /// APNs does not know the token here: try the other environment, once, before it is given up.
    case wrongEnvironment
    /// The token is of another app, or of another project: it will never work with these credentials.
    case wrongApp
    /// The request itself is at fault: sending it again would fail again. It says nothing against the device.
    case refused
    /// More bytes than the provider takes, even without any text.
    case tooLarge
    /// This device has had too much; others go on.
    case targetBusy
    /// The provider, or the way there, does not work at the moment: everything for it waits.
    case providerBusy
    /// The credentials are not good: nothing will get through until somebody has looked, so keep everything.
    case misconfigured
}
