public import Foundation

/// The result of sending one notification to one device.
public struct PushReply: Hashable, Sendable {
    /// The consequence for the notification, the device or the provider.
    public var outcome: PushOutcome
    /// The HTTP status of the provider's response; nil if there was no response.
    public var status: Int?
    /// The provider's error code, or this library's code if there was no response; stable, for logs.
    public var reason: String?
    /// The provider's identifier of an accepted notification.
    public var receipt: String?
    /// The delay that the provider requests before the next attempt.
    public var retryAfter: Duration?

    /// Creates a reply, for example in a test's own ``PushProvider``.
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

/// The meaning of a reply, common to all providers.
public enum PushOutcome: Hashable, Sendable {
    /// The provider accepted the notification; no provider reports whether the device received it.
    case accepted
    /// The token is invalid: delete the device, unless it registered again after `since`.
    case unregistered(since: Date?)
    /// APNs does not know the token in this environment: try the other environment once, then disable the device.
    case wrongEnvironment
    /// The token belongs to another app or project, so it never works with these credentials.
    case wrongApp
    /// The provider rejected the request, and would reject it again; the device's token may be valid.
    case refused
    /// The payload exceeds the provider's limit even without text.
    case tooLarge
    /// The provider limits the rate of this device; other devices are unaffected.
    case targetBusy
    /// The provider is unavailable or overloaded: pause all notifications for it.
    case providerBusy
    /// The provider rejected the credentials: keep all notifications until an operator corrects them.
    case misconfigured
}
