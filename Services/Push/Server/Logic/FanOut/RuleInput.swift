import Foundation
import PushAPI
import Wire

struct PendingNotification: Sendable {
    let key: Int64
    /// Empty for a broadcast, which is for all applications.
    let application: String
    let kind: NotificationKind
    let about: String?
    /// Case-folded.
    let community: String?
    let badge: NotificationBadge?
    let sound: String?
    let isShown: Bool
    let collapseKey: String?
    let priority: Int
    let expires: Date
    let isCancelled: Bool

    /// Whether the app receives this change on a network without an alert.
    var isSilentChange: Bool { kind == .social && !isShown }

    var broadcaster: String? { kind == .broadcast ? about : nil }

    /// The key by which quiet hours hold only the newest notification.
    var holdKey: String { about.map { "\(kind.rawValue):\($0)" } ?? "notification:\(key)" }
}

/// A possible recipient of a notification.
struct Candidate: Sendable {
    let notification: Int
    let user: User.ID
    var exceptDevices: [String] = []
    /// Nil for all devices except `exceptDevices`.
    var onlyDevices: Set<Int64>?
    /// In place of the notification's badge.
    var badge: NotificationBadge?
    /// The end of the hold that the log already shows.
    var heldUntil: Date?
}

/// Notifications and users that one transaction decides.
struct Batch: Sendable {
    var notifications: [PendingNotification] = []
    var candidates: [Candidate] = []
}

struct RecipientSettings: Sendable {
    var isEnabled = true
    var quietHours: QuietWindow?
    var disabledCommunities: [String] = []
    var disabledKinds: [String] = []
    /// For a broadcast, the user's settings of the broadcaster.
    var favourite: FavouriteSettings?
}

struct FavouriteSettings: Sendable {
    var notify: Bool
    var cooldown: Bool
    var sound: String
    var disabledCommunities: [String]
    /// When a provider last accepted a notification about the broadcaster for a device of the user.
    var lastAccepted: Date?
}

struct TargetDevice: Sendable {
    let key: Int64
    let id: String
    let session: String?
    let platform: String
    /// As ``PushTarget/service``.
    let service: String
}
