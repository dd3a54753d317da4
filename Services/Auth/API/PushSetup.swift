package import Wire

/// The body of `PUT /applications/{id}/push`: an absent provider stays unchanged, null removes its credentials.
package struct PushSetupChanges: Sendable {
    /// A Google service account: the JSON of its key file, as an object or as a string.
    package struct ServiceAccount: Codable, Hashable, Sendable {
        package var serviceAccount: JSONValue

        package init(serviceAccount: JSONValue) {
            self.serviceAccount = serviceAccount
        }
    }

    package var apns: Change<PushCredentials.APNs>
    package var fcm: Change<ServiceAccount>
    package var vapid: Change<PushCredentials.VAPID>

    package init(
        apns: Change<PushCredentials.APNs> = .unchanged,
        fcm: Change<ServiceAccount> = .unchanged,
        vapid: Change<PushCredentials.VAPID> = .unchanged
    ) {
        self.apns = apns
        self.fcm = fcm
        self.vapid = vapid
    }
}

extension PushSetupChanges: Codable {
    private enum CodingKeys: String, CodingKey { case apns, fcm, vapid }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        apns = try container.decodeChange(forKey: .apns)
        fcm = try container.decodeChange(forKey: .fcm)
        vapid = try container.decodeChange(forKey: .vapid)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(apns, forKey: .apns)
        try container.encode(fcm, forKey: .fcm)
        try container.encode(vapid, forKey: .vapid)
    }
}

/// An application's push credentials without their secrets; null for a provider without credentials.
package struct PushSetup: Codable, Hashable, Sendable {
    package struct APNs: Codable, Hashable, Sendable {
        package var keyId: String
        package var teamId: String
        package var topic: String

        package init(keyId: String, teamId: String, topic: String) {
            self.keyId = keyId
            self.teamId = teamId
            self.topic = topic
        }
    }

    package struct FCM: Codable, Hashable, Sendable {
        package var projectId: String
        package var clientEmail: String

        package init(projectId: String, clientEmail: String) {
            self.projectId = projectId
            self.clientEmail = clientEmail
        }
    }

    package struct VAPID: Codable, Hashable, Sendable {
        /// The uncompressed point in base64url, with which a browser subscribes.
        package var publicKey: String
        package var subject: String

        package init(publicKey: String, subject: String) {
            self.publicKey = publicKey
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

    /// Encodes missing providers as null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(apns, forKey: .apns)
        try container.encode(fcm, forKey: .fcm)
        try container.encode(vapid, forKey: .vapid)
    }
}
