package import Foundation
package import Wire

/// What an application's server, or an administrator, wants said.
package struct NotificationDraft: Codable, Hashable, Sendable {
    package var to: Target
    package var title: String?
    package var body: String?
    /// A JSON object.
    package var data: JSONValue?
    package var badge: NotificationBadge?
    /// One of `NotificationSound.names`.
    package var sound: String?
    /// An address of `https:`.
    package var image: String?
    package var collapseKey: String?
    /// Seconds.
    package var ttl: Int?
    package var priority: NotificationPriority?
    /// Not before this.
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

    /// Whom it is for: exactly one of the three.
    package struct Target: Codable, Hashable, Sendable {
        package var userIds: [String]?
        /// The clients' own ids of theirs.
        package var deviceIds: [String]?
        package var topic: String?

        package init(userIds: [String]? = nil, deviceIds: [String]? = nil, topic: String? = nil) {
            self.userIds = userIds
            self.deviceIds = deviceIds
            self.topic = topic
        }
    }
}

/// How far a notification of a server has come.
package struct NotificationReport: Codable, Hashable, Sendable {
    package enum State: String, Codable, Sendable {
        /// Its time has not come.
        case scheduled
        /// It is being told, or waits for a push service.
        case sending
        case done
        case cancelled
    }

    package var id: String
    package var state: State
    package var createdAt: Date
    package var sendAt: Date?
    /// How many people it was decided for.
    package var people: Int
    /// Of these, whom the rules left out.
    package var withheld: Int
    /// Of these, for whom it waits for the end of quiet hours.
    package var held: Int
    /// How many devices it was for.
    package var devices: Int
    /// Of these, those that a push service took it for.
    package var sent: Int
    /// Of these, those that it did not reach: the log says why.
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
