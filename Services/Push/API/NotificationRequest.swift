package import Wire

/// A notification that another service sends to users.
package struct NotificationRequest: Codable, Hashable, Sendable {
    package static let maximumRecipients = 1_000

    /// At most 200 bytes; a second request with the same id in the application has no effect.
    package var id: String
    package var applicationId: String
    package var kind: NotificationKind
    package var recipients: [Recipient]
    package var title: String?
    /// The title on Android in place of `title`; other platforms ignore it.
    package var androidTitle: String?
    package var body: String?
    /// Texts from the message catalogues; for an unknown key, push sends `title` or `body`.
    package var titleMessage: NotificationText?
    package var bodyMessage: NotificationText?
    /// A JSON object that the app receives unchanged.
    package var data: JSONValue?
    /// One of `NotificationSound.names`.
    package var sound: String?
    /// An `https` URL.
    package var image: String?
    package var badge: NotificationBadge?
    /// At most 64 bytes; a newer notification with the same key replaces a pending one and one on the screen.
    package var collapseKey: String?
    /// The lifetime in seconds, limited to 1...2,419,200; nil for the maximum.
    package var ttl: Int?
    package var priority: NotificationPriority?
    /// The subject, such as a conversation's token; quiet hours hold only the newest notification of a subject.
    package var about: String?
    /// The ids of users in the text; push removes the text when one of these users is deleted.
    package var mentions: [String]?
    package var withheld: [Withheld]?

    package init(
        id: String,
        applicationId: String,
        kind: NotificationKind,
        recipients: [Recipient],
        title: String? = nil,
        androidTitle: String? = nil,
        body: String? = nil,
        data: JSONValue? = nil,
        sound: String? = nil,
        image: String? = nil,
        badge: NotificationBadge? = nil,
        collapseKey: String? = nil,
        ttl: Int? = nil,
        priority: NotificationPriority? = nil,
        about: String? = nil,
        mentions: [String]? = nil,
        titleMessage: NotificationText? = nil,
        bodyMessage: NotificationText? = nil,
        withheld: [Withheld]? = nil
    ) {
        self.id = id
        self.applicationId = applicationId
        self.kind = kind
        self.recipients = recipients
        self.title = title
        self.androidTitle = androidTitle
        self.body = body
        self.data = data
        self.sound = sound
        self.image = image
        self.badge = badge
        self.collapseKey = collapseKey
        self.ttl = ttl
        self.priority = priority
        self.about = about
        self.mentions = mentions
        self.titleMessage = titleMessage
        self.bodyMessage = bodyMessage
        self.withheld = withheld
    }

    /// Users that the sender excludes for one reason.
    ///
    /// They are not in `recipients`, so that a release of push without this field does not notify them.
    package struct Withheld: Codable, Hashable, Sendable {
        package static let conversationMuted = "conversation_muted"

        package var reason: String
        package var userIds: [String]

        package init(reason: String, userIds: [String]) {
            self.reason = reason
            self.userIds = userIds
        }
    }

    /// A user to notify on all devices, with exceptions.
    package struct Recipient: Codable, Hashable, Sendable {
        package var userId: String
        /// Devices to skip, by the client's own device id or by session id.
        package var exceptDeviceIds: [String]?
        /// In place of the request's badge.
        package var badge: NotificationBadge?

        package init(userId: String, exceptDeviceIds: [String]? = nil, badge: NotificationBadge? = nil) {
            self.userId = userId
            self.exceptDeviceIds = exceptDeviceIds
            self.badge = badge
        }
    }
}

/// A change of the number on an app's icon.
package enum NotificationBadge: Hashable, Sendable {
    package static let range: ClosedRange<Int64> = 0...1_000_000

    case increment
    case number(Int64)
}

extension NotificationBadge: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self) {
            guard Self.range.contains(number) else { throw Self.malformed(container) }
            self = .number(number)
        } else {
            guard try container.decode(String.self) == "increment" else { throw Self.malformed(container) }
            self = .increment
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .increment: try container.encode("increment")
        case .number(let number): try container.encode(number)
        }
    }

    private static func malformed(_ container: any SingleValueDecodingContainer) -> DecodingError {
        DecodingError.dataCorruptedError(
            in: container,
            debugDescription: "must be \"increment\" or a number from 0 to 1,000,000"
        )
    }
}

/// The urgency of a notification; a higher urgency costs the device more battery.
package enum NotificationPriority: String, Codable, CaseIterable, Sendable {
    case high
    /// The provider may delay the notification to save power.
    case normal
    /// The device receives the notification when it is awake anyway.
    case low
}

/// The response to `POST /internal/notifications`, sent after push stored the notifications.
package struct NotificationsAccepted: Codable, Hashable, Sendable {
    /// The number of new notifications.
    package var taken: Int
    /// The number of notifications that push already had.
    package var known: Int

    package init(taken: Int, known: Int) {
        self.taken = taken
        self.known = known
    }
}
