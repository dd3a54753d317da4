package import Wire

/// People who talk to one another, in one application; diuit calls it a chat.
package struct Conversation: Hashable, Sendable, PageItem {
    package typealias ID = Wire.ID<Conversation, Int64>

    package static let pluralName = "conversations"

    package enum Kind: String, Codable, Sendable {
        case group
        /// Of exactly two members, one for each pair.
        case direct
    }

    package var id: ID
    /// At least 128 random bits; who has it may join, where `joinByToken` says so.
    package var token: String
    package var label: String
    package var type: Kind
    /// In the order they came.
    ///
    /// Null in a list where there are more than 100; a single conversation always has them.
    package var members: [String]?
    /// As `members`.
    package var admins: [String]?
    /// What the members are called and where their pictures are, by userId: of the first 100 members shown.
    ///
    /// Left out in answers that are repeated for an `Idempotency-Key`, and while the names cannot be read.
    package var profiles: [String: Profile]?
    /// Who may join; null admits everybody, `[]` nobody.
    package var whiteList: [String]?
    package var joinByToken: Bool
    package var meta: JSONValue?
    /// Whether the reader is notified of messages here.
    package var pushEnabled: Bool
    /// Messages of people after the one the reader has marked; system messages count as read.
    package var unreadCount: Int
    package var lastMessage: Message?
    /// Whether the reader has blocked the other of a direct conversation.
    package var isBlockedByMe: Bool

    package init(
        id: ID,
        token: String,
        label: String,
        type: Kind,
        members: [String]?,
        admins: [String]?,
        whiteList: [String]?,
        joinByToken: Bool,
        meta: JSONValue?,
        pushEnabled: Bool,
        unreadCount: Int,
        lastMessage: Message?,
        isBlockedByMe: Bool,
        profiles: [String: Profile]? = nil
    ) {
        self.id = id
        self.token = token
        self.label = label
        self.type = type
        self.members = members
        self.admins = admins
        self.whiteList = whiteList
        self.joinByToken = joinByToken
        self.meta = meta
        self.pushEnabled = pushEnabled
        self.unreadCount = unreadCount
        self.lastMessage = lastMessage
        self.isBlockedByMe = isBlockedByMe
        self.profiles = profiles
    }

    /// The name and the picture of a member.
    package struct Profile: Codable, Hashable, Sendable {
        /// Empty for a user without a name.
        package var fullName: String
        /// The address of the picture; absent for a user without one.
        package var avatarUrl: String?

        package init(fullName: String, avatarUrl: String? = nil) {
            self.fullName = fullName
            self.avatarUrl = avatarUrl
        }
    }
}

extension Conversation: Codable {
    /// Written out for the nulls that clients may rely on.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(token, forKey: .token)
        try container.encode(label, forKey: .label)
        try container.encode(type, forKey: .type)
        try container.encode(members, forKey: .members)
        try container.encode(admins, forKey: .admins)
        try container.encode(whiteList, forKey: .whiteList)
        try container.encode(joinByToken, forKey: .joinByToken)
        try container.encode(meta, forKey: .meta)
        try container.encode(pushEnabled, forKey: .pushEnabled)
        try container.encode(unreadCount, forKey: .unreadCount)
        try container.encode(lastMessage, forKey: .lastMessage)
        try container.encode(isBlockedByMe, forKey: .isBlockedByMe)
        try container.encodeIfPresent(profiles, forKey: .profiles)
    }
}
