import Wire

/// What anybody signed in may know of an account: `{userId, username, fullName}`.
package struct UserSummary: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "users"

    /// A UUID in lower case; in a customer's application any text.
    package var userId: String
    /// As its owner writes it; null for an account without one.
    package var username: String?
    package var fullName: String?

    package init(userId: String, username: String?, fullName: String?) {
        self.userId = userId
        self.username = username
        self.fullName = fullName
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(userId, forKey: .userId)
        try container.encode(username, forKey: .username)
        try container.encode(fullName, forKey: .fullName)
    }
}
