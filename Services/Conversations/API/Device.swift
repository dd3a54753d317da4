package import Wire

/// A signed-in app installation with its owner, in the format of diuit's clients.
package struct Device: Hashable, Sendable {
    package var summary: Summary
    package var owner: Owner
    /// The credential that the client signed in with, in the response to `authenticate` only: the server does not store
    /// it.
    package var authToken: String?

    package enum Status: String, Codable, Sendable {
        /// Receives notifications by its push token or, in a browser, by its subscription.
        case registered
        /// Cannot receive notifications.
        case unregistered
    }

    /// The user who owns the device, with all devices of that user.
    package struct Owner: Hashable, Sendable {
        /// The same number as in `senderUser`.
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
        /// A number that identifies the device.
        package var id: Int64
        /// The name that the account server gave the device when it opened the session; without a name, the session's
        /// id.
        package var serial: String
        /// The push platform: `gcm`, `ios_sandbox`, `ios_production` or, of a browser, `web`; null for a device without
        /// push.
        package var platform: String?
        package var status: Status
        /// The token that a push provider issued to the app, which only the device's owner receives; null for a browser.
        package var pushToken: String?
        /// Data that the app stored about the device.
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

// The owner is encoded beside the device's own fields.
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

// Encodes absent values as null, because clients may rely on the keys.
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
