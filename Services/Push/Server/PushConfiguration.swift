import Configuration
import Foundation
import NetworkGuard
import PushProviders
import ServiceHost

/// The settings of providers and devices.
///
/// The credentials are the deployment's own. They serve every application without its own credentials. Without
/// credentials for a provider, its notifications wait, and push logs an error.
struct PushConfiguration: Sendable {
    struct APNsCredentials: Sendable {
        /// `APNS_KEY`: the token-signing key of the developer account (`AuthKey_….p8`), in PEM.
        var key: String
        /// `APNS_KEY_ID`, `APNS_TEAM_ID`: ten characters each, from the developer account.
        var keyID: String
        var teamID: String
        /// `APNS_TOPIC`: the app's bundle id.
        var topic: String
    }

    var apns: APNsCredentials?
    /// `APNS_URL` (`https://api.push.apple.com`): for devices of platform `ios_production`.
    var apnsURL = "https://api.push.apple.com"
    /// `APNS_SANDBOX_URL` (`https://api.sandbox.push.apple.com`): for devices of platform `ios_sandbox`.
    var apnsSandboxURL = "https://api.sandbox.push.apple.com"

    /// `FCM_SERVICE_ACCOUNT`: the account's JSON; nil if it is not set.
    var fcmServiceAccount: String?
    /// `FCM_URL` (`https://fcm.googleapis.com`).
    var fcmURL = "https://fcm.googleapis.com"
    /// `FCM_TOKEN_URL` (`https://oauth2.googleapis.com/token`): issues the account's access tokens.
    var fcmTokenURL = "https://oauth2.googleapis.com/token"

    /// `VAPID_PRIVATE_KEY`: the key for Web Push, as PEM or 32 bytes in base64url; nil if it is not set.
    ///
    /// Browsers bind a subscription to the key, so a new key invalidates all subscriptions.
    var vapidKey: VAPIDKey?
    /// `VAPID_SUBJECT` (an https `PUBLIC_URL`): the operator's contact for push services, `mailto:` or `https:`.
    var vapidSubject = "mailto:nobody@localhost"

    /// `TRUSTED_CA`: certificate authorities in PEM that are trusted in addition to the system's.
    var trustedCA: String?
    /// `ALLOWED_PRIVATE_HOSTS`: the hosts at private addresses that may be browsers' push services.
    var addressGuard = AddressGuard()

    /// `MESSAGES_PATH` (none): the operator's folder of message catalogues.
    var messagesPath: String?

    /// The maximum number of devices per user; one more removes the one seen longest ago.
    ///
    /// More devices than a person has, so that only tokens of reinstalled apps and old browsers are removed.
    var maximumDevicesPerUser = 50
    /// The days after which an unseen FCM device is deleted.
    ///
    /// Google's tokens expire after 270 days of inactivity ("Manage FCM registration tokens").
    var deviceDays = 270
    /// The maximum number of favourites per user, before error 422.
    ///
    /// More broadcasters than a user follows elsewhere. The limit keeps a client from filling the table.
    var maximumSubscriptionsPerUser = 5_000
    /// The maximum number of topics per user, before error 422.
    ///
    /// An app has some dozens of topics; the limit has the same purpose.
    var maximumTopicsPerUser = 1_000
    var pipeline = PipelineConfiguration()

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
        pipeline = try PipelineConfiguration(configuration)
    }

    private static func apns(_ configuration: ConfigReader) throws -> APNsCredentials? {
        let key = try configuration.key("APNS_KEY")
        let others = [
            ("APNS_KEY_ID", configuration.text("APNS_KEY_ID")), ("APNS_TEAM_ID", configuration.text("APNS_TEAM_ID")),
            ("APNS_TOPIC", configuration.text("APNS_TOPIC")),
        ]
        let values = [("APNS_KEY", key)] + others
        guard values.contains(where: { $0.1 != nil }) else { return nil }
        if let missing = values.first(where: { $0.1 == nil }) {
            let names = values.map(\.0).joined(separator: ", ")
            throw SettingError(missing.0, "is not set; set all of \(names), or none of them")
        }
        let set = values.compactMap(\.1)
        return APNsCredentials(key: set[0], keyID: set[1], teamID: set[2], topic: set[3])
    }

    private static func vapidKey(_ configuration: ConfigReader) throws -> VAPIDKey? {
        guard let text = configuration.text("VAPID_PRIVATE_KEY") else { return nil }
        // A value that is not a key itself is the path of a key file.
        if let key = try? VAPIDKey(text) { return key }
        guard let content = try configuration.key("VAPID_PRIVATE_KEY"), let key = try? VAPIDKey(content) else {
            throw SettingError("VAPID_PRIVATE_KEY", "must be a P-256 private key, as PEM or 32 bytes in base64url")
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
