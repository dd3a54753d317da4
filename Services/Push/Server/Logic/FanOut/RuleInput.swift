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

    /// Whether the app receives this change of a social network silently, without an alert.
    var isSilentChange: Bool { kind == .social && !isShown }

    var broadcaster: String? { kind == .broadcast ? about : nil }

    /// Of a user's notifications with the same key, quiet hours hold only the newest.
    var holdKey: String { about.map { "\(kind.rawValue):\($0)" } ?? "notification:\(key)" }
}

/// A possible recipient of a notification.
struct Candidate: Sendable {
    let notification: Int
    let user: User.ID
    var exceptDevices: [String] = []
    /// Nil for all devices except `exceptDevices`.
    var onlyDevices: Set<Int64>?
    /// Replaces the notification's badge; nil to keep it.
    var badge: NotificationBadge?
    /// The end of the hold that the log already shows.
    var heldUntil: Date?
}

/// The notifications, and their possible recipients, that one transaction decides about.
struct Batch: Sendable {
    var notifications: [PendingNotification] = []
    var candidates: [Candidate] = []
}

struct RecipientSettings: Sendable {
    var isEnabled = true
    var quietHours: QuietWindow?
    var disabledCommunities: [String] = []
    var disabledKinds: [String] = []
    /// The user's settings for the broadcaster of a broadcast; nil if the broadcaster is no favourite of the user.
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
