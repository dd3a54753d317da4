import Foundation
import PushAPI
import Wire

/// A notification as far as the rules ask about it.
struct PendingNotification: Sendable {
    let key: Int64
    /// Empty for a broadcast.
    let application: String
    let kind: NotificationKind
    let about: String?
    /// Folded.
    let community: String?
    let badge: NotificationBadge?
    let sound: String?
    /// Whether it has anything to show.
    let isShown: Bool
    let collapseKey: String?
    let priority: Int
    let expires: Date
    let isCancelled: Bool

    /// Whether this is a change on a network that an app receives without an alert.
    var isSilentChange: Bool { kind == .social && !isShown }

    /// Whose broadcast it is.
    var broadcaster: String? { kind == .broadcast ? about : nil }

    /// By what quiet hours keep the newest.
    var holdKey: String { about.map { "\(kind.rawValue):\($0)" } ?? "notification:\(key)" }
}

/// Somebody whom a notification may be for.
struct Candidate: Sendable {
    /// The notification's place in its batch.
    let notification: Int
    let user: User.ID
    var exceptDevices: [String] = []
    /// Nil: all but those.
    var onlyDevices: Set<Int64>?
    /// Instead of the notification's.
    var badge: NotificationBadge?
    /// Until when it was held so far, and is in the log as such.
    var heldUntil: Date?
}

/// People to decide about at once, with what they may be told.
struct Batch: Sendable {
    var notifications: [PendingNotification] = []
    var candidates: [Candidate] = []
}

/// What is known of one of a batch.
struct RecipientSettings: Sendable {
    var isEnabled = true
    var quietHours: QuietWindow?
    var disabledCommunities: [String] = []
    var disabledKinds: [String] = []
    /// Of a broadcast, the broadcaster as his favourite.
    var favourite: FavouriteSettings?
}

struct FavouriteSettings: Sendable {
    var notify: Bool
    var cooldown: Bool
    var sound: String
    var disabledCommunities: [String]
    /// When a push service last took something about the broadcaster for any of his devices.
    var lastAccepted: Date?
}

/// A device that is not switched off.
struct TargetDevice: Sendable {
    let key: Int64
    let id: String
    let session: String?
    let platform: String
    /// Where what is for it goes.
    let service: String
}
