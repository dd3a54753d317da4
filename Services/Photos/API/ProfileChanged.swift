import Wire

/// A change of a user's name or avatar, published for the services that show them.
package struct ProfileChanged: EventContent, Hashable {
    package static let type = "profile.changed"

    package var applicationId: String
    package var userId: String
    /// The complete name, even if only the avatar changed; empty for a user without a name.
    package var fullName: String
    /// The path of the avatar below `PUBLIC_URL`; absent for a user without an avatar.
    package var avatarPath: String?

    package init(applicationId: String, userId: String, fullName: String, avatarPath: String? = nil) {
        self.applicationId = applicationId
        self.userId = userId
        self.fullName = fullName
        self.avatarPath = avatarPath
    }

    /// Events with the same key are delivered in order.
    package var key: String { "user:\(applicationId):\(userId)" }
}
