package import Foundation
import Wire

/// A customer's application, whose users are authenticated by the customer's own account server.
package struct CustomerApplication: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "applications"

    package var applicationId: String
    package var name: String
    /// A public identifier that client apps contain; it authenticates nothing.
    package var applicationKey: String
    /// The user who manages the application; null if only administrators do.
    package var owner: String?
    package var createdAt: Date
    /// Newest first, revoked keys included.
    package var keys: [EncryptionKey]

    package init(
        applicationId: String,
        name: String,
        applicationKey: String,
        owner: String?,
        createdAt: Date,
        keys: [EncryptionKey]
    ) {
        self.applicationId = applicationId
        self.name = name
        self.applicationKey = applicationKey
        self.owner = owner
        self.createdAt = createdAt
        self.keys = keys
    }

    /// Encodes a nil `owner` as null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(applicationId, forKey: .applicationId)
        try container.encode(name, forKey: .name)
        try container.encode(applicationKey, forKey: .applicationKey)
        try container.encode(owner, forKey: .owner)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(keys, forKey: .keys)
    }
}

/// A user of a customer's application who has signed in at least once.
package struct ApplicationUser: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "users"

    package var userId: String
    package var firstSignedInAt: Date
    package var lastSignedInAt: Date

    package init(userId: String, firstSignedInAt: Date, lastSignedInAt: Date) {
        self.userId = userId
        self.firstSignedInAt = firstSignedInAt
        self.lastSignedInAt = lastSignedInAt
    }
}

/// The public record of a key that a customer's account server signs with.
package struct EncryptionKey: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "keys"

    package var encryptionKeyId: String
    package var createdAt: Date
    package var revokedAt: Date?

    package init(encryptionKeyId: String, createdAt: Date, revokedAt: Date?) {
        self.encryptionKeyId = encryptionKeyId
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(encryptionKeyId, forKey: .encryptionKeyId)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(revokedAt, forKey: .revokedAt)
    }
}

/// The body of `POST /applications` and `PATCH /applications/{id}`.
package struct ApplicationDraft: Codable, Hashable, Sendable {
    package var name: String

    package init(name: String) {
        self.name = name
    }
}

/// The response of `POST /applications`: all that the customer's programs need.
package struct NewApplication: Codable, Hashable, Sendable {
    package var applicationId: String
    package var applicationKey: String
    package var encryptionKeyId: String
    /// An RSA private key, PKCS #8 in PEM; returned only this once.
    package var encryptionKey: String

    package init(applicationId: String, applicationKey: String, key: NewEncryptionKey) {
        self.applicationId = applicationId
        self.applicationKey = applicationKey
        encryptionKeyId = key.encryptionKeyId
        encryptionKey = key.encryptionKey
    }
}

/// The response of `POST /applications/{id}/keys`.
package struct NewEncryptionKey: Codable, Hashable, Sendable {
    package var encryptionKeyId: String
    /// An RSA private key, PKCS #8 in PEM; returned only this once.
    package var encryptionKey: String

    package init(encryptionKeyId: String, encryptionKey: String) {
        self.encryptionKeyId = encryptionKeyId
        self.encryptionKey = encryptionKey
    }
}
