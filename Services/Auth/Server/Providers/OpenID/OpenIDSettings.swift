struct OpenIDSettings: Sendable {
    /// When the provider is trusted that an address is verified.
    enum EmailTrust: Sendable {
        /// Whenever the provider reports the address as verified.
        case always
        /// Only for addresses of the provider's own domains, or of organizations that it hosts.
        ///
        /// For other addresses, the provider only knows that the user once owned them (Google, "Verify the Google ID
        /// token").
        case ownDomains(Set<String>)
        case never
    }

    /// The secret that authenticates this deployment to the provider.
    enum Secret: Sendable {
        case text(String)
        case apple(AppleClientSecret)
    }

    var name: String
    /// The exact issuer; its discovery document is below this URL.
    var issuer: String
    /// Other issuers that the provider's tokens may contain.
    var issuerAliases: Set<String> = []
    /// The client ids of this deployment's applications; the first receives the codes of web pages.
    var clients: [String]
    var secret: Secret?
    var scope = "openid email profile"
    var emailTrust: EmailTrust = .never
    var usesFormPost = false
}

extension OpenIDSettings: CustomStringConvertible, CustomReflectable {
    var description: String { "OpenIDSettings(\(name), hidden)" }
    var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
