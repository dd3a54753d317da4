/// The credentials for sending an application's notifications to push providers: secrets, for the service `push` only.
package struct PushCredentials: Codable, Hashable, Sendable {
    /// A key of an Apple developer account, for Apple's push notification service.
    package struct APNs: Codable, Hashable, Sendable {
        /// A P-256 private key, PKCS #8 in PEM.
        package var key: String
        package var keyId: String
        package var teamId: String
        /// The app's bundle id.
        package var topic: String

        package init(key: String, keyId: String, teamId: String, topic: String) {
            self.key = key
            self.keyId = keyId
            self.teamId = teamId
            self.topic = topic
        }
    }

    /// A service account of a Firebase project.
    package struct FCM: Codable, Hashable, Sendable {
        /// The JSON of its key file, compact: `type`, `project_id`, `private_key_id`, `private_key`, `client_email`.
        package var serviceAccount: String

        package init(serviceAccount: String) {
            self.serviceAccount = serviceAccount
        }
    }

    /// The key that identifies the sender to browsers' push services (RFC 8292).
    package struct VAPID: Codable, Hashable, Sendable {
        /// A P-256 private key: its 32 bytes in base64url.
        package var privateKey: String
        /// The sender's contact for the push service, a `mailto:` or `https:` URL.
        package var subject: String

        package init(privateKey: String, subject: String) {
            self.privateKey = privateKey
            self.subject = subject
        }
    }

    package var apns: APNs?
    package var fcm: FCM?
    package var vapid: VAPID?

    package init(apns: APNs? = nil, fcm: FCM? = nil, vapid: VAPID? = nil) {
        self.apns = apns
        self.fcm = fcm
        self.vapid = vapid
    }
}
