package import Wire

/// The profile of a person at an identity provider, without the name.
package struct IdentityProfile: Codable, Sendable {
    package var email: String?
    package var emailVerified: Bool
    /// The domain of the organization that manages the account (Google's claim `hd`).
    package var hostedDomain: String?

    package init(email: String?, emailVerified: Bool = true, hostedDomain: String? = nil) {
        self.email = email
        self.emailVerified = emailVerified
        self.hostedDomain = hostedDomain
    }
}

/// A request for an ID token as the provider's own library issues it to an app, without a consent page.
package struct IDTokenDraft: Codable, Sendable {
    package var person: String
    /// The token's nonce, which apps set to the SHA-256 of the value that they keep.
    package var nonce: String?
    /// The app that the token is for; the sandbox's own app when nil.
    package var audience: String?
    /// Claims that replace the token's own, for tests of invalid tokens; null removes a claim.
    package var claims: [String: JSONValue]?

    package init(
        person: String,
        nonce: String? = nil,
        audience: String? = nil,
        claims: [String: JSONValue]? = nil
    ) {
        self.person = person
        self.nonce = nonce
        self.audience = audience
        self.claims = claims
    }
}
