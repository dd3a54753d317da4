import Wire

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
