package import Wire

/// A device signed in that can be reached by push.
package struct DeviceRegistered: EventContent, Hashable {
    package static let type = "device.registered"

    package var applicationId: String
    package var userId: String
    /// The session whose end is the end of the registration.
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

/// A session is over, and what belongs to it with it.
package struct SessionEnded: EventContent, Hashable {
    package static let type = "session.ended"

    package enum Reason: String, Codable, Sendable {
        /// Somebody or something ended it.
        case ended
        /// Its time was over.
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

/// A user has another name or language, or is new and brings a picture along.
package struct UserChanged: EventContent, Hashable {
    package static let type = "user.changed"

    package var applicationId: String
    package var userId: String
    /// All of what he is called by now, and not what changed alone.
    package var username: String?
    package var fullName: String?
    /// The address of a picture that an account elsewhere has of him, for who has none of him yet; anybody may have
    /// written it, so whoever fetches it goes to public places alone.
    package var pictureUrl: String?
    /// The language that texts for the user are in (BCP 47); unchanged in events of a release before languages.
    package var language: Change<String>
    /// False where the event is about the language alone, and the names repeat what subscribers know.
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

/// Somebody is no user any more: what services keep of him goes.
package struct UserDeleted: EventContent, Hashable {
    package static let type = "user.deleted"

    package var applicationId: String
    package var userId: String
    /// By what a service answers, in a `UserDeletionCompleted`, that it has nothing of him any more; auth of an older release waits
    /// for no answer.
    package var deletionJob: DeletionJob?

    package init(applicationId: String, userId: String, deletionJob: DeletionJob? = nil) {
        self.applicationId = applicationId
        self.userId = userId
        self.deletionJob = deletionJob
    }

    package var user: User.ID { User.ID(application: applicationId, user: userId) }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}

/// An application was deleted: each service deletes all of its data, and answers with a `UserDeletionCompleted` of the same departure.
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
    /// All that happens to one person is told in its order.
    var eventKey: String { "user:\(application):\(user)" }
}
