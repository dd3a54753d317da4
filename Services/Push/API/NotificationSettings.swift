package import Wire

/// What somebody wants to be notified of, and when: everything at any time, until he says otherwise.
package struct NotificationSettings: Hashable, Sendable {
    /// Off: nothing is sent at all.
    package var enabled: Bool
    package var quietHours: QuietHours?
    /// Folded names, in order; what happens in these notifies nobody who lists them.
    package var disabledCommunities: [String]
    /// Each optional kind, and whether it is on.
    package var kinds: [NotificationKind: Bool]

    package init(
        enabled: Bool = true,
        quietHours: QuietHours? = nil,
        disabledCommunities: [String] = [],
        disabledKinds: [NotificationKind] = []
    ) {
        self.enabled = enabled
        self.quietHours = quietHours
        self.disabledCommunities = disabledCommunities
        kinds = Dictionary(
            uniqueKeysWithValues: NotificationKind.optional.map { ($0, !disabledKinds.contains($0)) }
        )
    }
}

extension NotificationSettings: Codable {
    private enum CodingKeys: CodingKey { case enabled, quietHours, disabledCommunities, kinds }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        enabled = try container.decode(Bool.self, forKey: .enabled)
        quietHours = try container.decodeIfPresent(QuietHours.self, forKey: .quietHours)
        disabledCommunities = try container.decode([String].self, forKey: .disabledCommunities)
        kinds = try container.decode(KindSwitches.self, forKey: .kinds).values
    }

    // Written out for the null, which clients may rely on.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(enabled, forKey: .enabled)
        try container.encode(quietHours, forKey: .quietHours)
        try container.encode(disabledCommunities, forKey: .disabledCommunities)
        try container.encode(KindSwitches(values: kinds), forKey: .kinds)
    }
}

/// When nothing is to ring: what is for then waits until it is over.
package struct QuietHours: Codable, Hashable, Sendable {
    /// `HH:MM` in the time zone; `start` may come after `end`: across midnight.
    package var start: String
    package var end: String
    /// A name of IANA's, such as `Europe/Berlin`, by whose clock changes both go.
    package var timeZone: String

    package init(start: String, end: String, timeZone: String) {
        self.start = start
        self.end = end
        self.timeZone = timeZone
    }
}

/// `PUT /notification-settings`: only what is named changes, and only the kinds that are named.
package struct NotificationSettingsChanges: Sendable {
    package var enabled: Bool?
    package var quietHours: Change<QuietHours>
    package var disabledCommunities: [String]?
    package var kinds: [NotificationKind: Bool]

    package init(
        enabled: Bool? = nil,
        quietHours: Change<QuietHours> = .unchanged,
        disabledCommunities: [String]? = nil,
        kinds: [NotificationKind: Bool] = [:]
    ) {
        self.enabled = enabled
        self.quietHours = quietHours
        self.disabledCommunities = disabledCommunities
        self.kinds = kinds
    }
}

extension NotificationSettingsChanges: Codable {
    private enum CodingKeys: CodingKey { case enabled, quietHours, disabledCommunities, kinds }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        enabled = try container.decodeIfGiven(Bool.self, forKey: .enabled)
        quietHours = try container.decodeChange(forKey: .quietHours)
        disabledCommunities = try container.decodeIfGiven([String].self, forKey: .disabledCommunities)
        kinds = try container.decodeIfGiven(KindSwitches.self, forKey: .kinds)?.values ?? [:]
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(enabled, forKey: .enabled)
        try container.encode(quietHours, forKey: .quietHours)
        try container.encodeIfPresent(disabledCommunities, forKey: .disabledCommunities)
        if !kinds.isEmpty { try container.encode(KindSwitches(values: kinds), forKey: .kinds) }
    }
}

/// `kinds` on the wire: an object of names.
private struct KindSwitches: Codable {
    let values: [NotificationKind: Bool]

    init(values: [NotificationKind: Bool]) { self.values = values }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let named = try container.decode([String: Bool].self)
        values = try Dictionary(
            uniqueKeysWithValues: named.map { name, isOn in
                guard let kind = NotificationKind(rawValue: name), NotificationKind.optional.contains(kind) else {
                    let known = NotificationKind.optional.map(\.rawValue).joined(separator: ", ")
                    let message = "there is no such kind to turn on or off; there are \(known)"
                    throw APIError.invalid("kinds.\(name)", message, code: "unknown_kind")
                }
                return (kind, isOn)
            }
        )
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Dictionary(uniqueKeysWithValues: values.map { ($0.rawValue, $1) }))
    }
}
