/// The body of `devices/updatePushToken`: the device's new push token.
package struct PushTokenChange: Codable, Sendable {
    /// The token that a push provider issued to the app; `<`, `>` and spaces, an old iOS notation, are removed.
    package var pushToken: String
    /// `gcm`, `ios_sandbox` or `ios_production`; optional when the server already has the device's platform.
    package var platform: String?

    package init(pushToken: String, platform: String? = nil) {
        self.pushToken = pushToken
        self.platform = platform
    }
}

/// The body of `devices/setBadge`: the number on the app's icon, which later notifications increment.
package struct BadgeChange: Codable, Sendable {
    /// From 0 to 1,000,000.
    package var badge: Int64

    package init(badge: Int64) { self.badge = badge }
}
