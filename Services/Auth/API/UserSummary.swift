import Wire

/// The public part of an account that every signed-in user may read: `{userId, username, fullName}`.
package struct UserSummary: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "users"

    /// A UUID in lower case; any text in a customer's application.
    package var userId: String
    /// In the owner's spelling; null for an account without a username.
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
