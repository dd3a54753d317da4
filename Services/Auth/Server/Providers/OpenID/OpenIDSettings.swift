/// What is known of one provider of OpenID Connect.
struct OpenIDSettings: Sendable {
    /// When a provider's word counts that an address is its holder's.
    enum EmailTrust: Sendable {
        /// Whenever it says so.
        case always
        /// When it says so of an address that it gives out itself, or keeps for an organisation.
        ///
        /// Of others it only knows that they were once somebody's (Google, "Verify the Google ID token").
        case ownDomains(Set<String>)
        case never
    }

    /// By what we prove to the provider who we are.
    enum Secret: Sendable {
        case text(String)
        case apple(AppleClientSecret)
    }

    var name: String
    /// Its identifier, letter by letter; its document is found below it.
    var issuer: String
    /// Other names that its tokens may bear.
    var issuerAliases: Set<String> = []
    /// What it knows our applications by; codes of web pages are for the first.
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
