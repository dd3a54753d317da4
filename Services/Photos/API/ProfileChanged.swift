import Wire

/// The name or the picture of a user that other services show changed.
package struct ProfileChanged: EventContent, Hashable {
    package static let type = "profile.changed"

    package var applicationId: String
    package var userId: String
    /// The whole name, and not only what changed; empty for a user without a name.
    package var fullName: String
    /// The path of the picture below the suite's public URL; absent for a user without a picture.
    package var avatarPath: String?

    package init(applicationId: String, userId: String, fullName: String, avatarPath: String? = nil) {
        self.applicationId = applicationId
        self.userId = userId
        self.fullName = fullName
        self.avatarPath = avatarPath
    }

    /// Events about one user are delivered in their order.
    package var key: String { "user:\(applicationId):\(userId)" }
}
