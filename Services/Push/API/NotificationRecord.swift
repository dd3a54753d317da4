package import Foundation
import Wire

/// A log entry: the outcome of a notification for a user, or for one device, and the reason.
package struct NotificationRecord: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "entries"

    package enum Outcome: String, Codable, CaseIterable, Sendable {
        case waiting
        /// A provider accepted the notification; only the device knows whether it showed it.
        case sent
        case withheld
        /// The notification waits until `until`; push decides again then.
        case held
        case replaced
        case expired
        case failed
        case cancelled
    }

    /// Increases with time.
    package var id: Int64
    package var notificationId: String
    package var kind: NotificationKind
    package var title: String?
    /// The subject, such as a conversation's token or a broadcaster.
    package var about: String?
    package var outcome: Outcome
    /// A reason code, such as `cooldown`, `quiet_hours` or `BadDeviceToken`.
    package var reason: String?
    package var at: Date
    /// The end of quiet hours; only with `held`.
    package var until: Date?
    /// The client's own device id; nil for a decision about the user.
    package var deviceId: String?
    package var platform: DevicePlatform?
    /// The number of requests to the provider.
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
