package import Wire

/// The event of a sign-in on a device that push can reach.
package struct DeviceRegistered: EventContent, Hashable {
    package static let type = "device.registered"

    package var applicationId: String
    package var userId: String
    /// The session that owns the registration: when it ends, the registration ends.
    package var sessionId: String
    /// The client's own id of the device, unique among the user's.
    package var deviceId: String
    /// `gcm`, `ios_sandbox` or `ios_production`.
    package var platform: String
    package var pushToken: String

    package init(
        applicationId: String,
        userId: String,
        sessionId: String,
        deviceId: String,
        platform: String,
        pushToken: String
    ) {
        self.applicationId = applicationId
        self.userId = userId
        self.sessionId = sessionId
        self.deviceId = deviceId
        self.platform = platform
        self.pushToken = pushToken
    }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}

/// The event of an ended session; subscribers remove what belongs to it.
package struct SessionEnded: EventContent, Hashable {
    package static let type = "session.ended"

    package enum Reason: String, Codable, Sendable {
        /// The user, an administrator or a security rule ended the session.
        case ended
        /// The session reached its end of validity.
        case expired
    }

    package var applicationId: String
    package var userId: String
    package var sessionId: String
    package var deviceId: String?
    package var reason: Reason

    package init(applicationId: String, userId: String, sessionId: String, deviceId: String?, reason: Reason) {
        self.applicationId = applicationId
        self.userId = userId
        self.sessionId = sessionId
        self.deviceId = deviceId
        self.reason = reason
    }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}

/// The event of a changed name or language, or of a new user with an external avatar.
package struct UserChanged: EventContent, Hashable {
    package static let type = "user.changed"

    package var applicationId: String
    package var userId: String
    /// Both names as they are now, not only the changed one.
    package var username: String?
    package var fullName: String?
    /// The URL of an avatar at an external provider, for a user without an avatar here.
    ///
    /// The URL is untrusted input, so the service that fetches it must connect only to public addresses.
    package var pictureUrl: String?
    /// The language of texts for the user (BCP 47); unchanged in events from a release without languages.
    package var language: Change<String>
    /// False if only the language changed; the names then repeat what subscribers already have.
    package var changesNames: Bool

    package init(
        applicationId: String,
        userId: String,
        username: String?,
        fullName: String?,
        pictureUrl: String? = nil,
        language: Change<String> = .unchanged,
        changesNames: Bool = true
    ) {
        self.applicationId = applicationId
        self.userId = userId
        self.username = username
        self.fullName = fullName
        self.pictureUrl = pictureUrl
        self.language = language
        self.changesNames = changesNames
    }

    private enum CodingKeys: String, CodingKey {
        case applicationId, userId, username, fullName, pictureUrl, language, changesNames
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        applicationId = try container.decode(String.self, forKey: .applicationId)
        userId = try container.decode(String.self, forKey: .userId)
        username = try container.decodeIfPresent(String.self, forKey: .username)
        fullName = try container.decodeIfPresent(String.self, forKey: .fullName)
        pictureUrl = try container.decodeIfPresent(String.self, forKey: .pictureUrl)
        language = try container.decodeChange(forKey: .language)
        changesNames = try container.decodeIfPresent(Bool.self, forKey: .changesNames) ?? true
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(applicationId, forKey: .applicationId)
        try container.encode(userId, forKey: .userId)
        try container.encodeIfPresent(username, forKey: .username)
        try container.encodeIfPresent(fullName, forKey: .fullName)
        try container.encodeIfPresent(pictureUrl, forKey: .pictureUrl)
        try container.encode(language, forKey: .language)
        try container.encode(changesNames, forKey: .changesNames)
    }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}

/// The event of a deleted user: services delete what they store about the user.
package struct UserDeleted: EventContent, Hashable {
    package static let type = "user.deleted"

    package var applicationId: String
    package var userId: String
    /// The job that a service confirms with a `UserDeletionCompleted`.
    ///
    /// Nil from auth of an older release, which expects no confirmation.
    package var deletionJob: DeletionJob?

    package init(applicationId: String, userId: String, deletionJob: DeletionJob? = nil) {
        self.applicationId = applicationId
        self.userId = userId
        self.deletionJob = deletionJob
    }

    package var user: User.ID { User.ID(application: applicationId, user: userId) }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}

/// The event of a deleted application.
///
/// Each service deletes all of the application's data and confirms with a `UserDeletionCompleted` of the same job.
package struct ApplicationDeleted: EventContent, Hashable {
    package static let type = "application.deleted"

    package var applicationId: String
    package var deletionJob: DeletionJob

    package init(applicationId: String, deletionJob: DeletionJob) {
        self.applicationId = applicationId
        self.deletionJob = deletionJob
    }

    package var key: String { "application:\(applicationId)" }
}

extension User.ID {
    /// All events of a user have this key, so they are delivered in order.
    var eventKey: String { "user:\(application):\(user)" }
}
