package import Wire

/// What `PUT /applications/{id}/push` changes: a service that is left out stays as it is, null takes its credentials away.
package struct PushSetupChanges: Sendable {
    /// What of a service account is given: the JSON of its key file, or the text of that.
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

/// Which credentials an application has, without what is secret in them; null where it has none.
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
        /// The uncompressed point, base64url: what a browser subscribes with.
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

    /// Written out for the nulls.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(apns, forKey: .apns)
        try container.encode(fcm, forKey: .fcm)
        try container.encode(vapid, forKey: .vapid)
    }
}
