package import Wire

/// A favourite: a broadcaster whose going live somebody wants to hear of, and how.
package struct Subscription: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "subscriptions"

    /// As it was written first; names are compared by their case folding.
    package var broadcaster: String
    /// Off: kept, but silent.
    package var notify: Bool
    /// At most one notification about this broadcaster within four hours.
    package var cooldown: Bool
    /// One of `NotificationSound.names`.
    package var sound: String
    /// Folded names, in order; from these the broadcaster's streams notify nobody who lists them.
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

/// `PUT /subscriptions/{broadcaster}`: only what is named changes; what is new is as `Subscription` begins.
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

/// The answer to taking away what may not have been there.
package struct SubscriptionRemoval: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}

/// What another service found that somebody follows; it becomes a favourite unless it is one, or was one once.
package struct SubscriptionImport: Codable, Hashable, Sendable {
    /// The most that one request may carry.
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

/// Those of an import that are favourites now and were none before.
package struct ImportedSubscriptions: Codable, Hashable, Sendable {
    package var added: [String]

    package init(added: [String]) { self.added = added }
}
