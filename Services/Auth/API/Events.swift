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

/// Somebody is called by another name, or is new and brings a picture along.
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

    package init(
        applicationId: String,
        userId: String,
        username: String?,
        fullName: String?,
        pictureUrl: String? = nil
    ) {
        self.applicationId = applicationId
        self.userId = userId
        self.username = username
        self.fullName = fullName
        self.pictureUrl = pictureUrl
    }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}

/// Somebody is no user any more: what services keep of him goes.
package struct UserDeleted: EventContent, Hashable {
    package static let type = "user.deleted"

    package var applicationId: String
    package var userId: String
    /// By what a service answers, in a `UserErased`, that it has nothing of him any more; auth of an older release waits
    /// for no answer.
    package var departure: Departure?

    package init(applicationId: String, userId: String, departure: Departure? = nil) {
        self.applicationId = applicationId
        self.userId = userId
        self.departure = departure
    }

    package var user: User.ID { User.ID(application: applicationId, user: userId) }

    package var key: String { User.ID(application: applicationId, user: userId).eventKey }
}

/// An application was deleted: each service deletes all of its data, and answers with a `UserErased` of the same departure.
package struct ApplicationDeleted: EventContent, Hashable {
    package static let type = "application.deleted"

    package var applicationId: String
    package var departure: Departure

    package init(applicationId: String, departure: Departure) {
        self.applicationId = applicationId
        self.departure = departure
    }

    package var key: String { "application:\(applicationId)" }
}

extension User.ID {
    /// All that happens to one person is told in its order.
    var eventKey: String { "user:\(application):\(user)" }
}
