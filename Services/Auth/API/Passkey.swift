package import Foundation
import Wire

package struct Passkey: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "passkeys"

    /// A UUID in lower case.
    package var id: String
    package var name: String
    /// Whether the passkey is synchronized across the owner's devices.
    package var backedUp: Bool
    package var createdAt: Date
    package var lastUsedAt: Date?

    package init(id: String, name: String, backedUp: Bool, createdAt: Date, lastUsedAt: Date?) {
        self.id = id
        self.name = name
        self.backedUp = backedUp
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(name, forKey: .name)
        try container.encode(backedUp, forKey: .backedUp)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(lastUsedAt, forKey: .lastUsedAt)
    }
}

/// The body of `POST /auth/passkeys/options`; it may be absent.
package struct PasskeyOptionsDraft: Codable, Hashable, Sendable {
    /// Required if the session signed in more than five minutes ago.
    package var password: String?

    package init(password: String? = nil) {
        self.password = password
    }
}

/// The options with which a browser creates a passkey: WebAuthn's `PublicKeyCredentialCreationOptionsJSON`.
package struct PasskeyCreationOptions: Codable, Hashable, Sendable {
    package struct RelyingParty: Codable, Hashable, Sendable {
        package var id: String
        package var name: String
    }

    package struct User: Codable, Hashable, Sendable {
        /// Base64url; reveals nothing about the user.
        package var id: String
        package var name: String
        package var displayName: String
    }

    package struct Algorithm: Codable, Hashable, Sendable {
        package var type = "public-key"
        /// The COSE algorithm number.
        package var alg: Int

        package init(_ number: Int) { alg = number }
    }

    package struct Selection: Codable, Hashable, Sendable {
        package var residentKey = "required"
        package var requireResidentKey = true
        package var userVerification = "required"
    }

    package var rp: RelyingParty
    package var user: User
    package var challenge: String
    package var pubKeyCredParams: [Algorithm]
    /// In milliseconds.
    package var timeout: Int
    package var excludeCredentials: [PasskeyDescriptor]
    package var authenticatorSelection = Selection()
    package var attestation = "none"

    package init(
        rp: RelyingParty,
        user: User,
        challenge: String,
        algorithms: [Int],
        timeout: Int,
        excludeCredentials: [PasskeyDescriptor]
    ) {
        self.rp = rp
        self.user = user
        self.challenge = challenge
        pubKeyCredParams = algorithms.map { Algorithm($0) }
        self.timeout = timeout
        self.excludeCredentials = excludeCredentials
    }
}

extension PasskeyCreationOptions.RelyingParty {
    package init(_ id: String, named name: String) {
        self.id = id
        self.name = name
    }
}

extension PasskeyCreationOptions.User {
    package init(_ id: String, named name: String, shownAs displayName: String) {
        self.id = id
        self.name = name
        self.displayName = displayName
    }
}

/// A reference to a credential in WebAuthn's options.
package struct PasskeyDescriptor: Codable, Hashable, Sendable {
    package var type = "public-key"
    /// Base64url.
    package var id: String
    package var transports: [String]

    package init(id: String, transports: [String]) {
        self.id = id
        self.transports = transports
    }
}

/// The options with which a browser signs in: WebAuthn's `PublicKeyCredentialRequestOptionsJSON`.
///
/// They list no credentials, so they do not reveal which accounts have passkeys: the browser offers its own.
package struct PasskeyRequestOptions: Codable, Hashable, Sendable {
    package var challenge: String
    /// In milliseconds.
    package var timeout: Int
    package var rpId: String
    package var allowCredentials: [PasskeyDescriptor] = []
    package var userVerification = "required"

    package init(challenge: String, timeout: Int, rpId: String) {
        self.challenge = challenge
        self.timeout = timeout
        self.rpId = rpId
    }
}
