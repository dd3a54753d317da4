import Wire

/// The event that a user blocked another user.
package struct UserBlocked: EventContent, Hashable {
    package static let type = "user.blocked"

    package var applicationId: String
    package var userId: String
    package var blockedId: String

    package init(applicationId: String, userId: String, blockedId: String) {
        self.applicationId = applicationId
        self.userId = userId
        self.blockedId = blockedId
    }

    package var key: String { blockKey(applicationId, userId, blockedId) }
}

/// The event that a user unblocked another user.
package struct UserUnblocked: EventContent, Hashable {
    package static let type = "user.unblocked"

    package var applicationId: String
    package var userId: String
    package var blockedId: String

    package init(applicationId: String, userId: String, blockedId: String) {
        self.applicationId = applicationId
        self.userId = userId
        self.blockedId = blockedId
    }

    package var key: String { blockKey(applicationId, userId, blockedId) }
}

/// Returns the ordering key of the events about one block; the length prefix keeps different pairs of ids distinct.
private func blockKey(_ application: String, _ user: String, _ blocked: String) -> String {
    "block:\(application):\(user.utf8.count):\(user):\(blocked)"
}

/// The event that an app set the number on its icon, which later notifications increment.
package struct DeviceBadge: EventContent, Hashable {
    package static let type = "device.badge"

    package var applicationId: String
    package var userId: String
    package var deviceId: String
    /// The session that set the badge, which may have registered the device in push under another id.
    package var sessionId: String?
    package var badge: Int64

    package init(applicationId: String, userId: String, deviceId: String, sessionId: String? = nil, badge: Int64) {
        self.applicationId = applicationId
        self.userId = userId
        self.deviceId = deviceId
        self.sessionId = sessionId
        self.badge = badge
    }

    /// Equals the key of auth's events about the user, so that all events about a user are delivered in order.
    package var key: String { "user:\(applicationId):\(userId)" }
}
