package import Foundation
import Wire

/// The body of `POST /auth/identities/{provider}`: exactly one of `idToken`, `accessToken`, `code` and `authorization`.
package struct IdentityDraft: Codable, Hashable, Sendable {
    /// The provider's signed ID token.
    ///
    /// It was requested with the SHA-256 of `nonce`.
    package var idToken: String?
    package var nonce: String?
    /// An access token of Facebook.
    package var accessToken: String?
    /// The authorization code of the redirect to the client; `codeVerifier` and `redirectUri` are sent with it.
    package var code: String?
    package var codeVerifier: String?
    /// The address that the provider redirected to, byte for byte.
    package var redirectUri: String?
    /// The issuer in the provider's redirect, if it named one (RFC 9207).
    package var iss: String?
    /// The code that `…/callback` redirected with; `codeVerifier` is sent with it.
    package var authorization: String?
    /// The name of a new account, for providers such as Apple that do not give auth a name.
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

/// The response of a sign-in with an external provider: that of a login, and whether the account is new.
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

/// An account at an external provider that the user signs in with.
package struct LinkedIdentity: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "identities"

    package var provider: String
    /// The address that the provider reported at the last sign-in.
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

/// The body of `POST /auth/identities/{provider}/authorizations`.
package struct ConsentDraft: Codable, Hashable, Sendable {
    /// The client's address for the final redirect; the operator must have registered it.
    package var redirectUri: String
    /// The S256 challenge of PKCE.
    ///
    /// Only the client has its verifier, so an eavesdropper cannot complete the sign-in.
    package var codeChallenge: String

    package init(redirectUri: String, codeChallenge: String) {
        self.redirectUri = redirectUri
        self.codeChallenge = codeChallenge
    }
}

/// The provider's page on which the user gives consent.
package struct ConsentPage: Codable, Hashable, Sendable {
    package var url: String

    package init(url: String) {
        self.url = url
    }
}
