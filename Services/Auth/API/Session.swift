package import Foundation
import Wire

/// A sign-in of one device.
package struct Session: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "sessions"

    /// A UUID in lower case; the `sid` of the session's access tokens.
    package var id: String
    package var deviceId: String?
    /// `gcm`, `ios_sandbox` or `ios_production`, if the sign-in named it.
    package var platform: String?
    /// The `User-Agent` of the sign-in, truncated to 255 characters.
    package var userAgent: String?
    package var createdAt: Date
    /// The time of the last sign-in or refresh.
    package var lastSeenAt: Date
    /// Whether this is the session of the request.
    package var current: Bool

    package init(
        id: String,
        deviceId: String?,
        platform: String?,
        userAgent: String?,
        createdAt: Date,
        lastSeenAt: Date,
        current: Bool
    ) {
        self.id = id
        self.deviceId = deviceId
        self.platform = platform
        self.userAgent = userAgent
        self.createdAt = createdAt
        self.lastSeenAt = lastSeenAt
        self.current = current
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(deviceId, forKey: .deviceId)
        try container.encode(platform, forKey: .platform)
        try container.encode(userAgent, forKey: .userAgent)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(lastSeenAt, forKey: .lastSeenAt)
        try container.encode(current, forKey: .current)
    }
}
