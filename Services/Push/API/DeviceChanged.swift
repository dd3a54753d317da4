package import Wire

/// The event of a device whose push registration was made, replaced or removed.
///
/// Push also responds with it to each `DeviceRegistered`, with the session of that registration: if the registration was
/// rejected, without a platform.
package struct DeviceChanged: EventContent, Hashable {
    package static let type = "device.registration_changed"

    package var applicationId: String
    package var userId: String
    /// The client's own id of the device, unique among the user's.
    package var deviceId: String
    /// The session of the registration, also of a removed one.
    package var sessionId: String?
    /// `gcm`, `ios_sandbox`, `ios_production` or `web`; nil for a device that no longer receives notifications.
    package var platform: String?
    /// Nil also for a browser, which has a subscription instead of a token.
    package var pushToken: String?

    package init(
        applicationId: String,
        userId: String,
        deviceId: String,
        sessionId: String?,
        platform: String? = nil,
        pushToken: String? = nil
    ) {
        self.applicationId = applicationId
        self.userId = userId
        self.deviceId = deviceId
        self.sessionId = sessionId
        self.platform = platform
        self.pushToken = pushToken
    }

    package var user: User.ID { User.ID(application: applicationId, user: userId) }

    /// Whether the device receives notifications.
    package var isRegistered: Bool { platform != nil }

    /// All events of a user have this key, so they are delivered in order.
    package var key: String { "user:\(applicationId):\(userId)" }
}
