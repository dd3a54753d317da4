import Configuration
import Foundation
import NetworkGuard
import PushProviders
import ServiceHost

/// The settings that only push has: how it reaches Apple, Google and browsers, and as whom.
///
/// The credentials are the deployment's own; they serve every application that has none of its own. Without those of a
/// provider, what is meant for its devices waits, and the log says so.
struct PushConfiguration: Sendable {
    /// What Apple knows the deployment by.
    struct APNsCredentials: Sendable {
        /// `APNS_KEY`: the token-signing key of the developer account (`AuthKey_….p8`), PEM.
        var key: String
        /// `APNS_KEY_ID`, `APNS_TEAM_ID`: ten characters each, as the developer account shows them.
        var keyID: String
        var teamID: String
        /// `APNS_TOPIC`: the app's bundle id.
        var topic: String
    }

    /// Nil where nothing of Apple's is set.
    var apns: APNsCredentials?
    /// `APNS_URL` (`https://api.push.apple.com`): for devices of platform `ios_production`.
    var apnsURL = "https://api.push.apple.com"
    /// `APNS_SANDBOX_URL` (`https://api.sandbox.push.apple.com`): for those of `ios_sandbox`.
    var apnsSandboxURL = "https://api.sandbox.push.apple.com"

    /// `FCM_SERVICE_ACCOUNT`: the account's JSON; nil where it is not set.
    var fcmServiceAccount: String?
    /// `FCM_URL` (`https://fcm.googleapis.com`).
    var fcmURL = "https://fcm.googleapis.com"
    /// `FCM_TOKEN_URL` (`https://oauth2.googleapis.com/token`): where the account's access tokens come from.
    var fcmTokenURL = "https://oauth2.googleapis.com/token"

    /// `VAPID_PRIVATE_KEY`: what browsers' push services know us by, PEM or 32 bytes in base64url; nil where it is not set.
    ///
    /// With another key every subscription of a browser has to be made anew.
    var vapidKey: VAPIDKey?
    /// `VAPID_SUBJECT` (`PUBLIC_URL` where that is https): where a push service reaches who runs this, as `mailto:` or
    /// `https:`.
    var vapidSubject = "mailto:nobody@localhost"

    /// `TRUSTED_CA`: certificates of authorities that are trusted beside the machine's, PEM.
    var trustedCA: String?
    /// `ALLOWED_PRIVATE_HOSTS`: where else than at public addresses browsers' push services may be.
    var addressGuard = AddressGuard()

    /// `MESSAGES_PATH` (none): the operator's folder of message catalogues.
    var messagesPath: String?

    /// `PUSH_DEVICES_PER_USER_MAX` (50): how many devices of one user are known; one more, and the one seen longest ago goes.
    var maximumDevicesPerUser = 50
    /// `PUSH_DEVICE_RETENTION_DAYS` (270): how long an Android device is known that is not heard of, as Google forgets it then.
    var deviceDays = 270
    /// `PUSH_SUBSCRIPTIONS_PER_USER_MAX` (5,000): how many broadcasters one user may follow, before 422.
    var maximumSubscriptionsPerUser = 5_000
    /// `PUSH_TOPICS_PER_USER_MAX` (1,000): how many topics, likewise.
    var maximumTopicsPerUser = 1_000

    init(_ configuration: ConfigReader) throws {
        apns = try Self.apns(configuration)
        apnsURL = try configuration.url("APNS_URL", default: apnsURL)
        apnsSandboxURL = try configuration.url("APNS_SANDBOX_URL", default: apnsSandboxURL)
        fcmServiceAccount = try configuration.key("FCM_SERVICE_ACCOUNT")
        fcmURL = try configuration.url("FCM_URL", default: fcmURL)
        fcmTokenURL = try configuration.url("FCM_TOKEN_URL", default: fcmTokenURL)
        vapidKey = try Self.vapidKey(configuration)
        vapidSubject = try Self.vapidSubject(configuration) ?? vapidSubject
        trustedCA = try configuration.key("TRUSTED_CA")
        addressGuard = try AddressGuard(configuration)
        messagesPath = configuration.text("MESSAGES_PATH")
        maximumDevicesPerUser = try configuration.number("PUSH_DEVICES_PER_USER_MAX", default: 50, in: 1...10_000)
        deviceDays = try configuration.number("PUSH_DEVICE_RETENTION_DAYS", default: deviceDays, in: 1...36_500)
        maximumSubscriptionsPerUser = try configuration.number(
            "PUSH_SUBSCRIPTIONS_PER_USER_MAX",
            default: maximumSubscriptionsPerUser,
            in: 1...1_000_000
        )
        maximumTopicsPerUser = try configuration.number("PUSH_TOPICS_PER_USER_MAX", default: 1_000, in: 1...1_000_000)
    }

    /// All four or none of them.
    private static func apns(_ configuration: ConfigReader) throws -> APNsCredentials? {
        let key = try configuration.key("APNS_KEY")
        let others = [
            ("APNS_KEY_ID", configuration.text("APNS_KEY_ID")), ("APNS_TEAM_ID", configuration.text("APNS_TEAM_ID")),
            ("APNS_TOPIC", configuration.text("APNS_TOPIC")),
        ]
        let values = [("APNS_KEY", key)] + others
        guard values.contains(where: { $0.1 != nil }) else { return nil }
        if let missing = values.first(where: { $0.1 == nil }) {
            throw SettingError(missing.0, "is not set, and others of Apple's are: it takes all four")
        }
        let set = values.compactMap(\.1)
        return APNsCredentials(key: set[0], keyID: set[1], teamID: set[2], topic: set[3])
    }

    private static func vapidKey(_ configuration: ConfigReader) throws -> VAPIDKey? {
        guard let text = configuration.text("VAPID_PRIVATE_KEY") else { return nil }
        // Silence: what is no key itself is the path of one.
        if let key = try? VAPIDKey(text) { return key }
        guard let kept = try configuration.key("VAPID_PRIVATE_KEY"), let key = try? VAPIDKey(kept) else {
            throw SettingError("VAPID_PRIVATE_KEY", "holds no P-256 private key, in PEM or as 32 bytes in base64url")
        }
        return key
    }

    private static func vapidSubject(_ configuration: ConfigReader) throws -> String? {
        guard let subject = configuration.text("VAPID_SUBJECT") else {
            return configuration.text("PUBLIC_URL").flatMap { $0.hasPrefix("https://") ? $0 : nil }
        }
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
            throw SettingError("VAPID_SUBJECT", "is \"\(subject)\"; it must begin with mailto: or https://")
        }
        return subject
    }
}
