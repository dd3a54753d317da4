package import Wire

/// An event: a user registered a first active device, or has no active device left.
///
/// Social polls the networks of a user with a device as often as those of a user with an open stream.
package struct DevicesChanged: EventContent, Hashable {
    package static let type = "devices.changed"

    package var applicationId: String
    package var userId: String
    package var hasDevice: Bool

    package init(applicationId: String, userId: String, hasDevice: Bool) {
        self.applicationId = applicationId
        self.userId = userId
        self.hasDevice = hasDevice
    }

    package var user: User.ID { User.ID(application: applicationId, user: userId) }

    package var key: String { "devices:\(applicationId):\(userId)" }
}
