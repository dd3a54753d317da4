package import Wire

/// A favourite: a broadcaster whose live streams notify the user.
package struct Subscription: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "subscriptions"

    /// The name as first written; push compares names by case folding.
    package var broadcaster: String
    /// False to keep the favourite but receive no notification.
    package var notify: Bool
    /// True to receive at most one notification about this broadcaster in four hours.
    package var cooldown: Bool
    /// One of `NotificationSound.names`.
    package var sound: String
    /// Case-folded names in order; the broadcaster's streams in these communities do not notify the user.
    package var disabledCommunities: [String]
    package var iconUrl: String?

    package init(
        broadcaster: String,
        notify: Bool = true,
        cooldown: Bool = false,
        sound: String = NotificationSound.standard,
        disabledCommunities: [String] = [],
        iconUrl: String? = nil
    ) {
        self.broadcaster = broadcaster
        self.notify = notify
        self.cooldown = cooldown
        self.sound = sound
        self.disabledCommunities = disabledCommunities
        self.iconUrl = iconUrl
    }
}

/// The body of `PUT /subscriptions/{broadcaster}`.
///
/// Absent fields stay unchanged; a new favourite has the defaults of `Subscription`.
package struct SubscriptionChanges: Sendable {
    package var notify: Bool?
    package var cooldown: Bool?
    package var sound: String?
    package var disabledCommunities: [String]?
    package var iconUrl: Change<String>

    package init(
        notify: Bool? = nil,
        cooldown: Bool? = nil,
        sound: String? = nil,
        disabledCommunities: [String]? = nil,
        iconUrl: Change<String> = .unchanged
    ) {
        self.notify = notify
        self.cooldown = cooldown
        self.sound = sound
        self.disabledCommunities = disabledCommunities
        self.iconUrl = iconUrl
    }
}

extension SubscriptionChanges: Codable {
    private enum CodingKeys: CodingKey { case notify, cooldown, sound, disabledCommunities, iconUrl }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        notify = try container.decodeIfGiven(Bool.self, forKey: .notify)
        cooldown = try container.decodeIfGiven(Bool.self, forKey: .cooldown)
        sound = try container.decodeIfGiven(String.self, forKey: .sound)
        disabledCommunities = try container.decodeIfGiven([String].self, forKey: .disabledCommunities)
        iconUrl = try container.decodeChange(forKey: .iconUrl)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(notify, forKey: .notify)
        try container.encodeIfPresent(cooldown, forKey: .cooldown)
        try container.encodeIfPresent(sound, forKey: .sound)
        try container.encodeIfPresent(disabledCommunities, forKey: .disabledCommunities)
        try container.encode(iconUrl, forKey: .iconUrl)
    }
}

/// The response to `DELETE /subscriptions/{broadcaster}`, even if there was no such favourite.
package struct SubscriptionRemoval: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}

/// The broadcasters that a user follows on a network.
///
/// Each becomes a favourite, unless the user has or once removed it.
package struct SubscriptionImport: Codable, Hashable, Sendable {
    package static let maximum = 1_000

    package var applicationId: String
    package var userId: String
    package var broadcasters: [Broadcaster]

    package struct Broadcaster: Codable, Hashable, Sendable {
        package var name: String
        package var iconUrl: String?

        package init(name: String, iconUrl: String? = nil) {
            self.name = name
            self.iconUrl = iconUrl
        }
    }

    package init(of user: User.ID, _ broadcasters: [Broadcaster]) {
        applicationId = user.application
        userId = user.user
        self.broadcasters = broadcasters
    }
}

package struct ImportedSubscriptions: Codable, Hashable, Sendable {
    package var added: [String]

    package init(added: [String]) { self.added = added }
}
