import Wire

/// Somebody does not want to see or hear another any more.
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

/// He does not mind any more.
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

/// What becomes of one block is told in its order; the length keeps names apart, whatever is in them.
private func blockKey(_ application: String, _ user: String, _ blocked: String) -> String {
    "block:\(application):\(user.utf8.count):\(user):\(blocked)"
}

/// Somebody's app has another number on its icon, from which notifications count on.
package struct DeviceBadge: EventContent, Hashable {
    package static let type = "device.badge"

    package var applicationId: String
    package var userId: String
    package var deviceId: String
    package var badge: Int64

    package init(applicationId: String, userId: String, deviceId: String, badge: Int64) {
        self.applicationId = applicationId
        self.userId = userId
        self.deviceId = deviceId
        self.badge = badge
    }

    /// As auth's events about the same person: all that happens to one is told in its order.
    package var key: String { "user:\(applicationId):\(userId)" }
}
