package import Foundation
import Wire

/// What became of a notification for somebody, or for one of his devices, and why.
package struct NotificationRecord: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "entries"

    package enum Outcome: String, Codable, CaseIterable, Sendable {
        /// For a device, on its way.
        case waiting
        /// A push service took it; whether the device showed it, only the device knows.
        case sent
        /// The rules said no.
        case withheld
        /// Kept until `until`, and decided anew then.
        case held
        /// A newer one took its place.
        case replaced
        /// Its time was over before it could be sent.
        case expired
        /// It cannot be sent to the device.
        case failed
        /// Its sender took it back.
        case cancelled
    }

    /// Grows with time.
    package var id: Int64
    /// The sender's own.
    package var notificationId: String
    package var kind: NotificationKind
    package var title: String?
    /// What it was about, as a conversation's token or a broadcaster.
    package var about: String?
    package var outcome: Outcome
    /// Why, in one word: `cooldown`, `quiet_hours`, `BadDeviceToken`.
    package var reason: String?
    package var at: Date
    /// With `held`.
    package var until: Date?
    /// The client's own id of the device; none where it was decided for the person.
    package var deviceId: String?
    package var platform: DevicePlatform?
    /// How often a push service was asked.
    package var attempts: Int?

    package init(
        id: Int64,
        notificationId: String,
        kind: NotificationKind,
        title: String?,
        about: String?,
        outcome: Outcome,
        reason: String?,
        at: Date,
        until: Date?,
        deviceId: String?,
        platform: DevicePlatform?,
        attempts: Int?
    ) {
        self.id = id
        self.notificationId = notificationId
        self.kind = kind
        self.title = title
        self.about = about
        self.outcome = outcome
        self.reason = reason
        self.at = at
        self.until = until
        self.deviceId = deviceId
        self.platform = platform
        self.attempts = attempts
    }
}
