package import Wire

/// What a provider of identities says of somebody besides the name.
package struct IdentityProfile: Codable, Sendable {
    package var email: String?
    package var emailVerified: Bool
    /// Whose organisation's account it is, in Google's word `hd`.
    package var hostedDomain: String?

    package init(email: String?, emailVerified: Bool = true, hostedDomain: String? = nil) {
        self.email = email
        self.emailVerified = emailVerified
        self.hostedDomain = hostedDomain
    }
}

/// What an app asks for that gets an ID token by the provider's own library, without a page.
package struct IDTokenDraft: Codable, Sendable {
    package var person: String
    /// What the token bears; apps give the SHA-256 of what they keep.
    package var nonce: String?
    /// Which app it is made out to; the sandbox's own unless told.
    package var audience: String?
    /// Claims that are put over its own, null to leave one out: what a test wants to see refused.
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
