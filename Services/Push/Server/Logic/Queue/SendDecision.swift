import Foundation
import PushAPI
import PushProviders

/// The consequences of a provider's reply for the queue's row, the device, and the provider's circuit.
struct SendDecision: Sendable {
    enum QueueAction: Hashable, Sendable {
        case finish(NotificationRecord.Outcome, reason: String?, receipt: String?)
        /// Moves the row to the log and to the failures, from which the operator can queue it again.
        case fail(reason: String?)
        case retry(Date, reason: String?, countsAttempt: Bool, otherEnvironment: Bool)
    }

    enum DeviceChange: Hashable, Sendable {
        /// Removes the device, unless it registered after `registeredBy`.
        case remove(registeredBy: Date)
        case disable(String)
        /// Changes the platform: the token works in the other APNs environment.
        case move(DevicePlatform)
    }

    enum ProviderStatus: Hashable, Sendable {
        case responded
        case busy(retryAfter: TimeInterval?)
        case misconfigured
    }

    var queueAction: QueueAction
    var device: DeviceChange?
    var providerStatus: ProviderStatus?
}
