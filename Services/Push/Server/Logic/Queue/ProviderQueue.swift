import Foundation
import PushAPI
import PushProviders
import Wire

/// What goes to one push service for one application; lanes do not wait for each other.
struct ProviderQueue: Hashable, Sendable {
    let application: String
    /// `apns-production`, `apns-sandbox`, `fcm`, or the origin of a browser's push service.
    let service: String

    /// Whose service it is: the origins of browsers' are too many for a metric.
    var kind: ProviderKind {
        switch service {
        case "apns-production", "apns-sandbox": .apns
        case "fcm": .fcm
        default: .web
        }
    }

    /// A row of the queue.
    struct Entry: Hashable, Sendable {
        let user: User.ID
        let id: Int64
    }
}

/// The push services there are, by what it takes to speak to them.
enum ProviderKind: String, CaseIterable, Sendable {
    case apns
    case fcm
    case web
}

/// Where the push services' clients come from.
protocol ProviderDirectory: Sendable {
    /// The client for an application's notifications, made of its own credentials or of the deployment's; nil where there
    /// are neither.
    ///
    /// - Throws: where it cannot be found out now.
    func provider(_ kind: ProviderKind, of application: String) async throws -> (any PushProvider)?
}

/// Something of the queue that this instance sends, until its lease ends.
struct ClaimedEntry: Sendable {
    let entry: ProviderQueue.Entry
    let queue: ProviderQueue
    let notification: Int64
    let kind: NotificationKind
    /// Whose broadcast it is.
    let broadcaster: String?
    let message: PushMessage
    /// Nil: it is gone, or was switched off.
    let device: Device?
    /// This time included.
    let attempts: Int
    /// Whoever sent it before did not live to say what came of it.
    let isResend: Bool
    let otherEnvironment: Bool
    let isCancelled: Bool
    /// Something about the broadcaster was accepted since this was decided.
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
