package import Wire

/// A group or direct conversation between users of one application; diuit calls it a chat.
package struct Conversation: Hashable, Sendable, PageItem {
    package typealias ID = Wire.ID<Conversation, Int64>

    package static let pluralName = "conversations"

    package enum Kind: String, Codable, Sendable {
        case group
        /// Has exactly two members; each pair of users has at most one.
        case direct
    }

    package var id: ID
    /// Contains at least 128 random bits; a user who has the token may join when `joinByToken` is true.
    package var token: String
    package var label: String
    package var type: Kind
    /// In the order in which the members joined.
    ///
    /// Null in a list when there are more than 100; a response with a single conversation always has all members.
    package var members: [String]?
    /// Follows the rules of `members`.
    package var admins: [String]?
    /// The names and pictures of the first 100 members shown, by userId.
    ///
    /// Absent in responses that are repeated for an `Idempotency-Key`, and while the names cannot be read.
    package var profiles: [String: Profile]?
    /// The users who may join by id; null admits every user, `[]` none.
    package var whiteList: [String]?
    package var joinByToken: Bool
    package var meta: JSONValue?
    /// Whether the reader receives notifications of messages here.
    package var pushEnabled: Bool
    /// The number of users' messages after the reader's read mark; system messages count as read.
    package var unreadCount: Int
    package var lastMessage: Message?
    /// Whether the reader has blocked the other member of a direct conversation.
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

    /// A member's name and picture.
    package struct Profile: Codable, Hashable, Sendable {
        /// Empty for a user without a name.
        package var fullName: String
        /// The URL of the picture; absent for a user without one.
        package var avatarUrl: String?

        package init(fullName: String, avatarUrl: String? = nil) {
            self.fullName = fullName
            self.avatarUrl = avatarUrl
        }
    }
}

extension Conversation: Codable {
    /// Encodes absent values as null, because clients may rely on the keys.
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
