package import Foundation
import Wire

/// A phone or browser that receives a user's notifications.
package struct Device: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "devices"

    package var id: String
    /// The client's own id of the device, unique among the user's devices.
    package var deviceId: String
    package var platform: DevicePlatform
    /// The first and last characters of the token: enough for the owner to recognise it, too few to send to the device.
    package var token: String
    package var registeredAt: Date
    /// The last time when the client registered the device or reported its badge.
    package var seenAt: Date
    /// The reason that push sends nothing until the client registers the device again; nil for an active device.
    package var disabledReason: String?
    /// Whether the session of this request registered the device.
    package var current: Bool
    /// The language of the device's notifications (BCP 47); nil to use the user's language.
    package var language: String?
    /// Whether APNs receives localization keys and arguments in place of texts from the message catalogues.
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

/// The body of `POST /devices`: a device that receives the user's notifications from now on.
package struct DeviceDraft: Codable, Sendable {
    /// `ios_sandbox`, `ios_production`, `gcm` or `web`.
    package var platform: String
    /// The token from APNs or FCM; push removes `<`, `>` and spaces, which old iOS versions print.
    package var token: String?
    /// The browser's push subscription, for the platform `web`.
    package var subscription: WebSubscription?
    /// 1 to 255 characters; by default the session's device id, or else its session id.
    package var deviceId: String?
    /// The language of the device's notifications (BCP 47); nil to use the user's language.
    package var language: String?
    /// Whether APNs receives localization keys and arguments in place of texts from the message catalogues; by default
    /// false.
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
    /// The URL at which the push service accepts messages for the browser.
    package var endpoint: String
    package var keys: Keys

    package struct Keys: Codable, Hashable, Sendable {
        /// The browser's public key: an uncompressed P-256 point, 65 bytes in base64url.
        package var p256dh: String
        /// The authentication secret: 16 bytes in base64url.
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

package struct DeviceRemoval: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}

package struct ApplicationServerKey: Codable, Hashable, Sendable {
    /// The `applicationServerKey` for `pushManager.subscribe`: an uncompressed P-256 point in base64url.
    package var publicKey: String

    package init(publicKey: String) { self.publicKey = publicKey }
}
