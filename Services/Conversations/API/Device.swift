package import Wire

/// An app that somebody is signed in with, as diuit's clients know it: what it is, and whose.
package struct Device: Hashable, Sendable {
    package var summary: Summary
    package var owner: Owner
    /// The credential that the client signed in with, in the response to `authenticate` only: the server stores none.
    package var authToken: String?

    package enum Status: String, Codable, Sendable {
        /// Its push token is known.
        case registered
        /// Nobody can notify it.
        case unregistered
    }

    /// Whose it is, with all that he has.
    package struct Owner: Hashable, Sendable {
        /// As in `senderUser`.
        package var id: Int64
        /// The userId.
        package var serial: String
        package var meta: JSONValue?
        package var devices: [Summary]

        package init(id: Int64, serial: String, meta: JSONValue?, devices: [Summary]) {
            self.id = id
            self.serial = serial
            self.meta = meta
            self.devices = devices
        }
    }

    /// A device without its owner.
    package struct Summary: Hashable, Sendable {
        /// A number of the device's own.
        package var id: Int64
        /// What the account server called it when it opened the session; the session's id where nobody named it.
        package var serial: String
        /// How it is notified: `gcm`, `ios_sandbox` or `ios_production`; null where it is not.
        package var platform: String?
        package var status: Status
        /// What a push provider gave the app; only the owner receives a device.
        package var pushToken: String?
        /// What the app stored about the device.
        package var meta: JSONValue?

        package init(
            id: Int64,
            serial: String,
            platform: String?,
            status: Status,
            pushToken: String? = nil,
            meta: JSONValue? = nil
        ) {
            self.id = id
            self.serial = serial
            self.platform = platform
            self.status = status
            self.pushToken = pushToken
            self.meta = meta
        }
    }

    package init(_ summary: Summary, of owner: Owner, authToken: String? = nil) {
        self.summary = summary
        self.owner = owner
        self.authToken = authToken
    }
}

// The owner stands beside what the device itself is.
extension Device: Codable {
    private enum CodingKeys: CodingKey { case owner, authToken }

    package init(from decoder: any Decoder) throws {
        summary = try Summary(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        owner = try container.decode(Owner.self, forKey: .owner)
        authToken = try container.decodeIfPresent(String.self, forKey: .authToken)
    }

    package func encode(to encoder: any Encoder) throws {
        try summary.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(owner, forKey: .owner)
        try container.encodeIfPresent(authToken, forKey: .authToken)
    }
}

// Written out for the nulls that clients may rely on.
extension Device.Owner: Codable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(serial, forKey: .serial)
        try container.encode(meta, forKey: .meta)
        try container.encode(devices, forKey: .devices)
    }
}

extension Device.Summary: Codable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(serial, forKey: .serial)
        try container.encode(platform, forKey: .platform)
        try container.encode(status, forKey: .status)
        try container.encode(pushToken, forKey: .pushToken)
        try container.encode(meta, forKey: .meta)
    }
}
