/// `devices/updatePushToken`: where this device is notified from now on.
package struct PushTokenChange: Codable, Sendable {
    /// What a provider gave the app; `<`, `>` and spaces, as iOS once wrote them, are stripped.
    package var pushToken: String
    /// `gcm`, `ios_sandbox` or `ios_production`; may be left out once it is known.
    package var platform: String?

    package init(pushToken: String, platform: String? = nil) {
        self.pushToken = pushToken
        self.platform = platform
    }
}

/// `devices/setBadge`: the number on the app's icon, from which notifications count on.
package struct BadgeChange: Codable, Sendable {
    /// 0 to 1,000,000.
    package var badge: Int64

    package init(badge: Int64) { self.badge = badge }
}
