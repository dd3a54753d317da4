/// Somebody as others see him beside what he has made.
package struct Author: Codable, Hashable, Sendable {
    package var userId: String
    /// Empty for somebody who has no name.
    package var fullName: String
    /// Where his picture is; null for somebody who has none.
    package var profilePicture: String?

    package init(userId: String, fullName: String, profilePicture: String? = nil) {
        self.userId = userId
        self.fullName = fullName
        self.profilePicture = profilePicture
    }

    // Written out for the null, which clients may rely on.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(userId, forKey: .userId)
        try container.encode(fullName, forKey: .fullName)
        try container.encode(profilePicture, forKey: .profilePicture)
    }
}
