package import Wire

/// What a service of the suite has to tell some people.
package struct NotificationRequest: Codable, Hashable, Sendable {
    /// How many people one request may name.
    package static let maximumRecipients = 1_000

    /// The sender's own, at most 200 bytes: a second request of the same id within the application does nothing.
    package var id: String
    package var applicationId: String
    package var kind: NotificationKind
    package var recipients: [Recipient]
    package var title: String?
    /// The title on Android, instead of `title`; no other platform shows it.
    package var androidTitle: String?
    package var body: String?
    /// Texts of the message catalogues, in place of `title` and `body`, which are sent where push does not know the key.
    package var titleMessage: NotificationText?
    package var bodyMessage: NotificationText?
    /// A JSON object, which the app gets as it is.
    package var data: JSONValue?
    /// One of `NotificationSound.names`.
    package var sound: String?
    /// An address of `https:`.
    package var image: String?
    package var badge: NotificationBadge?
    /// At most 64 bytes: a newer one takes the place of one that is not sent yet, and of one that is shown.
    package var collapseKey: String?
    /// Seconds, after which it is of no use any more.
    package var ttl: Int?
    package var priority: NotificationPriority?
    /// What quiet hours keep but the newest of, as a conversation's token.
    package var about: String?
    /// Whom its words name, by userId: where one of them is deleted, the words go.
    package var mentions: [String]?
    /// Users who are not notified, for the log alone.
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

    /// Users whom the sender of the request leaves out for one reason.
    ///
    /// They are no recipients, so that a release of push without this field does not notify them.
    package struct Withheld: Codable, Hashable, Sendable {
        /// The reason of users who turned the notifications of a conversation off.
        package static let conversationMuted = "conversation_muted"

        package var reason: String
        package var userIds: [String]

        package init(reason: String, userIds: [String]) {
            self.reason = reason
            self.userIds = userIds
        }
    }

    /// Somebody who is to be told, on all of his devices but some.
    package struct Recipient: Codable, Hashable, Sendable {
        package var userId: String
        /// Devices that know already, by the client's own id of theirs or that of their session.
        package var exceptDeviceIds: [String]?
        /// Instead of the request's.
        package var badge: NotificationBadge?

        package init(userId: String, exceptDeviceIds: [String]? = nil, badge: NotificationBadge? = nil) {
            self.userId = userId
            self.exceptDeviceIds = exceptDeviceIds
            self.badge = badge
        }
    }
}

/// What becomes of the number on an app's icon.
package enum NotificationBadge: Hashable, Sendable {
    /// What is accepted as a number.
    package static let range: ClosedRange<Int64> = 0...1_000_000

    /// One more than before, on each device.
    case increment
    case number(Int64)
}

extension NotificationBadge: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // What is no number must be the word.
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
        DecodingError.dataCorruptedError(in: container, debugDescription: "neither \"increment\" nor 0 to 1,000,000")
    }
}

/// How soon a notification must be there, at the cost of the phone's battery.
package enum NotificationPriority: String, Codable, CaseIterable, Sendable {
    /// At once.
    case high
    /// When the phone is awake.
    case normal
    /// When it suits.
    case low
}

/// That notifications are on disk.
package struct NotificationsAccepted: Codable, Hashable, Sendable {
    /// New ones.
    package var taken: Int
    /// Those that had been taken before.
    package var known: Int

    package init(taken: Int, known: Int) {
        self.taken = taken
        self.known = known
    }
}
