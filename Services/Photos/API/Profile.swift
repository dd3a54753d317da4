import Wire

/// A user's profile, as another user sees it.
package struct Profile: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "people"

    package var userId: String
    /// Empty for a user without a name.
    package var fullName: String
    /// The URL of the avatar; null for a user without an avatar.
    package var profilePicture: String?
    package var bio: String
    package var postCount: Int64
    package var followerCount: Int64
    package var followingCount: Int64
    /// Whether the caller follows this user.
    package var isFollowing: Bool
    /// Whether this user follows the caller.
    package var isFollowedBy: Bool

    package init(
        userId: String,
        fullName: String,
        profilePicture: String? = nil,
        bio: String = "",
        postCount: Int64 = 0,
        followerCount: Int64 = 0,
        followingCount: Int64 = 0,
        isFollowing: Bool = false,
        isFollowedBy: Bool = false
    ) {
        self.userId = userId
        self.fullName = fullName
        self.profilePicture = profilePicture
        self.bio = bio
        self.postCount = postCount
        self.followerCount = followerCount
        self.followingCount = followingCount
        self.isFollowing = isFollowing
        self.isFollowedBy = isFollowedBy
    }

    // Encodes null explicitly, because clients may rely on the field.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(userId, forKey: .userId)
        try container.encode(fullName, forKey: .fullName)
        try container.encode(profilePicture, forKey: .profilePicture)
        try container.encode(bio, forKey: .bio)
        try container.encode(postCount, forKey: .postCount)
        try container.encode(followerCount, forKey: .followerCount)
        try container.encode(followingCount, forKey: .followingCount)
        try container.encode(isFollowing, forKey: .isFollowing)
        try container.encode(isFollowedBy, forKey: .isFollowedBy)
    }
}
