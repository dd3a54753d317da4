/// The name and picture of a user, as shown with the user's content.
package struct Author: Codable, Hashable, Sendable {
    package var userId: String
    /// Empty for a user without a name.
    package var fullName: String
    /// The URL of the avatar; null for a user without an avatar.
    package var profilePicture: String?

    package init(userId: String, fullName: String, profilePicture: String? = nil) {
        self.userId = userId
        self.fullName = fullName
        self.profilePicture = profilePicture
    }

    // Encodes null explicitly, because clients may rely on the field.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(userId, forKey: .userId)
        try container.encode(fullName, forKey: .fullName)
        try container.encode(profilePicture, forKey: .profilePicture)
    }
}
