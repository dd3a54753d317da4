package import Foundation
import Wire

/// What `POST /auth/identities/{provider}` asks for: one of `idToken`, `accessToken`, `code` and `authorization`.
package struct IdentityDraft: Codable, Hashable, Sendable {
    /// What the provider signed about somebody, with the `nonce` whose SHA-256 it was asked for with.
    package var idToken: String?
    package var nonce: String?
    /// Facebook's.
    package var accessToken: String?
    /// What the provider's page sent the client back with; `codeVerifier` and `redirectUri` go with it.
    package var code: String?
    package var codeVerifier: String?
    /// Where the provider sent the client back to, letter by letter.
    package var redirectUri: String?
    /// The issuer that the page named, where it did (RFC 9207).
    package var iss: String?
    /// What `…/callback` sent the client on with; `codeVerifier` goes with it.
    package var authorization: String?
    /// For a new account of a provider that does not tell names to us, as Apple.
    package var fullName: String?
    package var deviceId: String?

    package init(
        idToken: String? = nil,
        nonce: String? = nil,
        accessToken: String? = nil,
        code: String? = nil,
        codeVerifier: String? = nil,
        redirectUri: String? = nil,
        iss: String? = nil,
        authorization: String? = nil,
        fullName: String? = nil,
        deviceId: String? = nil
    ) {
        self.idToken = idToken
        self.nonce = nonce
        self.accessToken = accessToken
        self.code = code
        self.codeVerifier = codeVerifier
        self.redirectUri = redirectUri
        self.iss = iss
        self.authorization = authorization
        self.fullName = fullName
        self.deviceId = deviceId
    }
}

/// The answer to a sign-in by an account elsewhere: that of a login, and whether it made the account here.
package struct IdentitySignIn: Codable, Hashable, Sendable {
    package var jwt: String
    package var refreshToken: String
    /// Seconds until `jwt` expires.
    package var expiresIn: Int
    package var userId: String
    /// As in `SignIn`.
    package var deviceToken: String?
    package var created: Bool

    package init(_ signIn: SignIn, created: Bool) {
        jwt = signIn.jwt
        refreshToken = signIn.refreshToken
        expiresIn = signIn.expiresIn
        userId = signIn.userId
        deviceToken = signIn.deviceToken
        self.created = created
    }
}

/// An account elsewhere that one signs in by.
package struct LinkedIdentity: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "identities"

    package var provider: String
    /// The address that the provider told of at the last sign-in.
    package var email: String?
    package var linkedAt: Date
    package var lastSignedInAt: Date

    package init(provider: String, email: String?, linkedAt: Date, lastSignedInAt: Date) {
        self.provider = provider
        self.email = email
        self.linkedAt = linkedAt
        self.lastSignedInAt = lastSignedInAt
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(provider, forKey: .provider)
        try container.encode(email, forKey: .email)
        try container.encode(linkedAt, forKey: .linkedAt)
        try container.encode(lastSignedInAt, forKey: .lastSignedInAt)
    }
}

/// What `POST /auth/identities/{provider}/authorizations` asks for.
package struct ConsentDraft: Codable, Hashable, Sendable {
    /// Where to send the client to in the end, one of those that the operator has registered.
    package var redirectUri: String
    /// The challenge of PKCE, S256, whose verifier completes it: whoever else sees the answer go by cannot.
    package var codeChallenge: String

    package init(redirectUri: String, codeChallenge: String) {
        self.redirectUri = redirectUri
        self.codeChallenge = codeChallenge
    }
}

/// The page of a provider at which somebody agrees.
package struct ConsentPage: Codable, Hashable, Sendable {
    package var url: String

    package init(url: String) {
        self.url = url
    }
}
