import Foundation
import PushAPI
import PushProviders
import Wire

/// The notifications of one application for one provider; queues do not wait for each other.
struct ProviderQueue: Hashable, Sendable {
    let application: String
    /// `apns-production`, `apns-sandbox`, `fcm`, or the origin of a browser's push service.
    let service: String

    /// The label for metrics; the origins of browsers' push services would be too many.
    var kind: ProviderKind {
        switch service {
        case "apns-production", "apns-sandbox": .apns
        case "fcm": .fcm
        default: .web
        }
    }

    struct Entry: Hashable, Sendable {
        let user: User.ID
        let id: Int64
    }
}

enum ProviderKind: String, CaseIterable, Sendable {
    case apns
    case fcm
    case web
}

protocol ProviderDirectory: Sendable {
    /// Returns the client with the application's credentials, or else the deployment's; nil if there are neither.
    ///
    /// - Throws: if the credentials are unavailable.
    func provider(_ kind: ProviderKind, of application: String) async throws -> (any PushProvider)?
}

/// A notification for a device that this instance may send until its lease ends.
struct ClaimedEntry: Sendable {
    let entry: ProviderQueue.Entry
    let queue: ProviderQueue
    let notification: Int64
    let kind: NotificationKind
    let broadcaster: String?
    let message: PushMessage
    /// Nil if the device was removed or disabled.
    let device: Device?
    /// Including this attempt.
    let attempts: Int
    /// Whether the lease of an earlier attempt ended without a stored result.
    let isResend: Bool
    let otherEnvironment: Bool
    let isCancelled: Bool
    /// Whether a provider accepted a notification about the broadcaster since this one was decided.
    let isInCooldown: Bool

    struct Device: Sendable {
        let key: Int64
        let id: String
        let platform: DevicePlatform
        let target: PushTarget
        let token: String
        let registeredAt: Date
    }
}
