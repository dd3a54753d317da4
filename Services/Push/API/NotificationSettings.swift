package import Wire

/// A user's choice of notifications and times; by default everything at any time.
package struct NotificationSettings: Hashable, Sendable {
    /// False to receive no alert at all.
    package var enabled: Bool
    package var quietHours: QuietHours?
    /// Case-folded names in order; streams in these communities do not notify the user.
    package var disabledCommunities: [String]
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

    // Clients may rely on `quietHours: null`, which synthesized code would omit.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(enabled, forKey: .enabled)
        try container.encode(quietHours, forKey: .quietHours)
        try container.encode(disabledCommunities, forKey: .disabledCommunities)
        try container.encode(KindSwitches(values: kinds), forKey: .kinds)
    }
}

/// The daily time without alerts; notifications wait until its end.
package struct QuietHours: Codable, Hashable, Sendable {
    /// `HH:MM` in the time zone; a `start` after `end` crosses midnight.
    package var start: String
    package var end: String
    /// An IANA name such as `Europe/Berlin`; `start` and `end` follow its clock changes.
    package var timeZone: String

    package init(start: String, end: String, timeZone: String) {
        self.start = start
        self.end = end
        self.timeZone = timeZone
    }
}

/// The body of `PUT /notification-settings`; absent fields and absent kinds stay unchanged.
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

/// The JSON form of `kinds`: an object from kind to true or false.
private struct KindSwitches: Codable {
    let values: [NotificationKind: Bool]

    init(values: [NotificationKind: Bool]) { self.values = values }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let named = try container.decode([String: Bool].self)
        values = try Dictionary(
            uniqueKeysWithValues: named.map { name, isOn in
                guard let kind = NotificationKind(rawValue: name), NotificationKind.optional.contains(kind) else {
                    let names = NotificationKind.optional.map(\.rawValue).joined(separator: ", ")
                    let message = "unknown notification kind; use one of \(names)"
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
