package import Foundation
import Wire

/// A phone, or a browser, on which somebody is notified.
package struct Device: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "devices"

    package var id: String
    /// What the client calls it, unique among the user's.
    package var deviceId: String
    package var platform: DevicePlatform
    /// The beginning and the end of its token: enough to tell one's own, too little to send to it.
    package var token: String
    package var registeredAt: Date
    /// When it was last heard of.
    package var seenAt: Date
    /// Why nothing is sent to it until it is registered again; absent where it is.
    package var disabledReason: String?
    /// Whether it was registered in the session that asks.
    package var current: Bool
    /// The language of its notifications (BCP 47), in place of its user's; absent where it has none of its own.
    package var language: String?
    /// Whether APNs sends keys and arguments in place of texts from the message catalogues.
    package var locKeys: Bool

    package init(
        id: String,
        deviceId: String,
        platform: DevicePlatform,
        token: String,
        registeredAt: Date,
        seenAt: Date,
        disabledReason: String?,
        current: Bool,
        language: String? = nil,
        locKeys: Bool = false
    ) {
        self.id = id
        self.deviceId = deviceId
        self.platform = platform
        self.token = token
        self.registeredAt = registeredAt
        self.seenAt = seenAt
        self.disabledReason = disabledReason
        self.current = current
        self.language = language
        self.locKeys = locKeys
    }
}

/// `POST /devices`: where somebody is notified from now on.
package struct DeviceDraft: Codable, Sendable {
    /// `ios_sandbox`, `ios_production`, `gcm` or `web`.
    package var platform: String
    /// What Apple or Google gave the app; `<`, `>` and spaces, as iOS once wrote them, are stripped.
    package var token: String?
    /// What the browser gave the page.
    package var subscription: WebSubscription?
    /// 1–255 characters; where it is left out, the device that the session was opened on, or the session.
    package var deviceId: String?
    /// The language of its notifications (BCP 47); without it, the user's.
    package var language: String?
    /// Whether APNs sends keys and arguments in place of texts from the message catalogues; without it, it does not.
    package var locKeys: Bool?

    package init(
        platform: String,
        token: String? = nil,
        subscription: WebSubscription? = nil,
        deviceId: String? = nil,
        language: String? = nil,
        locKeys: Bool? = nil
    ) {
        self.platform = platform
        self.token = token
        self.subscription = subscription
        self.deviceId = deviceId
        self.language = language
        self.locKeys = locKeys
    }
}

/// A browser's `PushSubscription`, as its `toJSON()` writes it.
package struct WebSubscription: Codable, Hashable, Sendable {
    /// Where its push service takes what is for it.
    package var endpoint: String
    package var keys: Keys

    package struct Keys: Codable, Hashable, Sendable {
        /// Its public key: a point of P-256, uncompressed, 65 bytes in base64url.
        package var p256dh: String
        /// 16 bytes in base64url.
        package var auth: String

        package init(p256dh: String, auth: String) {
            self.p256dh = p256dh
            self.auth = auth
        }
    }

    package init(endpoint: String, keys: Keys) {
        self.endpoint = endpoint
        self.keys = keys
    }
}

/// The answer to taking away a registration.
package struct DeviceRemoval: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}

/// `GET /push/vapid-key`.
package struct ApplicationServerKey: Codable, Hashable, Sendable {
    /// What `pushManager.subscribe` takes as `applicationServerKey`: a point of P-256, uncompressed, in base64url.
    package var publicKey: String

    package init(publicKey: String) { self.publicKey = publicKey }
}
