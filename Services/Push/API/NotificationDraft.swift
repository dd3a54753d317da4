package import Foundation
package import Wire

/// The body of `POST /push/notifications`: a notification from an application's server or an administrator.
package struct NotificationDraft: Codable, Hashable, Sendable {
    package var to: Target
    package var title: String?
    package var body: String?
    /// A JSON object that the app receives unchanged, at most 4,096 bytes.
    package var data: JSONValue?
    package var badge: NotificationBadge?
    /// One of `NotificationSound.names`.
    package var sound: String?
    /// An `https` URL.
    package var image: String?
    package var collapseKey: String?
    /// The lifetime in seconds, 1 to 2,419,200; nil for the maximum.
    package var ttl: Int?
    package var priority: NotificationPriority?
    /// The time to send, at most 366 days ahead; nil to send now.
    package var sendAt: Date?

    package init(
        to: Target,
        title: String? = nil,
        body: String? = nil,
        data: JSONValue? = nil,
        badge: NotificationBadge? = nil,
        sound: String? = nil,
        image: String? = nil,
        collapseKey: String? = nil,
        ttl: Int? = nil,
        priority: NotificationPriority? = nil,
        sendAt: Date? = nil
    ) {
        self.to = to
        self.title = title
        self.body = body
        self.data = data
        self.badge = badge
        self.sound = sound
        self.image = image
        self.collapseKey = collapseKey
        self.ttl = ttl
        self.priority = priority
        self.sendAt = sendAt
    }

    /// The recipients, in exactly one of the three fields.
    package struct Target: Codable, Hashable, Sendable {
        package var userIds: [String]?
        package var deviceIds: [String]?
        package var topic: String?

        package init(userIds: [String]? = nil, deviceIds: [String]? = nil, topic: String? = nil) {
            self.userIds = userIds
            self.deviceIds = deviceIds
            self.topic = topic
        }
    }
}

/// The progress of a server's notification.
package struct NotificationReport: Codable, Hashable, Sendable {
    package enum State: String, Codable, Sendable {
        case scheduled
        /// Push is still resolving recipients, or notifications wait for a provider.
        case sending
        case done
        case cancelled
    }

    package var id: String
    package var state: State
    package var createdAt: Date
    package var sendAt: Date?
    /// The number of users that have a send decision: whether and when to send.
    package var people: Int
    /// The part of `people` that the rules excluded.
    package var withheld: Int
    /// The part of `people` that waits for the end of quiet hours.
    package var held: Int
    /// The number of devices that push queued the notification for.
    package var devices: Int
    /// The part of `devices` for which a provider accepted the notification.
    package var sent: Int
    /// The part of `devices` that the notification did not reach; the log has the reasons.
    package var failed: Int

    package init(
        id: String,
        state: State,
        createdAt: Date,
        sendAt: Date?,
        people: Int,
        withheld: Int,
        held: Int,
        devices: Int,
        sent: Int,
        failed: Int
    ) {
        self.id = id
        self.state = state
        self.createdAt = createdAt
        self.sendAt = sendAt
        self.people = people
        self.withheld = withheld
        self.held = held
        self.devices = devices
        self.sent = sent
        self.failed = failed
    }
}
