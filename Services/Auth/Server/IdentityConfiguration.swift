import Configuration
import Foundation
import Logging
import ServiceHost
import Wire

struct IdentityConfiguration: Sendable {
    /// OpenID Connect providers: Google and Apple if configured, and those of `OPENID_PROVIDERS`.
    var openID: [OpenIDSettings] = []
    var facebook: FacebookProvider.Settings?
    var twitter: TwitterProvider.Settings?
    /// The addresses that a callback may redirect to with a provider's code; compared exactly.
    var redirectURLs: Set<String> = []
    /// Certificates of CAs to trust in addition to the system's, PEM.
    var trustedCA: String?

    private static let reservedNames: Set<String> = ["google", "apple", "facebook", "twitter"]
    /// The domains whose every address belongs to Google.
    private static let googleDomains: Set<String> = ["gmail.com", "googlemail.com"]

    /// Reads the settings.
    ///
    /// - `GOOGLE_CLIENT_ID`, `GOOGLE_CLIENT_SECRET`, `GOOGLE_ISSUER` (`https://accounts.google.com`): sign-in with
    ///   Google; the client ids of all of the operator's apps, comma-separated, the web application's first.
    /// - `APPLE_CLIENT_ID`, `APPLE_TEAM_ID`, `APPLE_KEY_ID`, `APPLE_KEY`, `APPLE_ISSUER` (`https://appleid.apple.com`):
    ///   sign-in with Apple; service and bundle ids, the service id first; the key as PEM or as a file's path.
    /// - `FACEBOOK_CLIENT_ID`, `FACEBOOK_CLIENT_SECRET`, `FACEBOOK_URL`, `FACEBOOK_VERSION`, and `TWITTER_CLIENT_ID`,
    ///   `TWITTER_CLIENT_SECRET`, `TWITTER_URL`: the same settings as in social.
    /// - `OPENID_PROVIDERS` (none): further providers, as JSON or as the path of a JSON file; see `OpenIDProviderList`.
    /// - `IDENTITY_REDIRECT_URLS` (none): addresses that a callback may redirect to, comma-separated.
    init(_ configuration: ConfigReader) throws {
        if let clients = Self.list(configuration.text("GOOGLE_CLIENT_ID")) {
            var google = OpenIDSettings(
                name: "google",
                issuer: try configuration.url("GOOGLE_ISSUER", default: "https://accounts.google.com"),
                clients: clients
            )
            // Google's tokens sometimes omit the scheme of the issuer ("Verify the Google ID token").
            if google.issuer == "https://accounts.google.com" { google.issuerAliases = ["accounts.google.com"] }
            google.secret = configuration.text("GOOGLE_CLIENT_SECRET").map { .text($0) }
            google.emailTrust = .ownDomains(Self.googleDomains)
            openID.append(google)
        }
        if let apple = try Self.apple(configuration) { openID.append(apple) }
        if let text = try configuration.key("OPENID_PROVIDERS") {
            openID += try OpenIDProviderList.read(text, namesTaken: Self.reservedNames)
        }
        try readNetworks(configuration)
        redirectURLs = Set(Self.list(configuration.text("IDENTITY_REDIRECT_URLS")) ?? [])
        for url in redirectURLs { try Self.check(redirectURL: url) }
        trustedCA = try configuration.key("TRUSTED_CA")
    }

    private static func apple(_ configuration: ConfigReader) throws -> OpenIDSettings? {
        guard let clients = list(configuration.text("APPLE_CLIENT_ID")) else { return nil }
        var apple = OpenIDSettings(
            name: "apple",
            issuer: try configuration.url("APPLE_ISSUER", default: "https://appleid.apple.com"),
            clients: clients
        )
        apple.scope = "openid name email"
        apple.usesFormPost = true
        apple.emailTrust = .always
        guard let pem = try configuration.key("APPLE_KEY") else { return apple }
        guard let team = configuration.text("APPLE_TEAM_ID"), let keyID = configuration.text("APPLE_KEY_ID") else {
            throw SettingError("APPLE_KEY", "requires APPLE_TEAM_ID and APPLE_KEY_ID")
        }
        do {
            apple.secret = .apple(try AppleClientSecret(team: team, keyID: keyID, pem: pem))
        } catch {
            throw SettingError("APPLE_KEY", "is not a P-256 private key in PEM")
        }
        return apple
    }

    private mutating func readNetworks(_ configuration: ConfigReader) throws {
        if let client = configuration.text("FACEBOOK_CLIENT_ID"),
            let secret = configuration.text("FACEBOOK_CLIENT_SECRET")
        {
            let standard = "https://graph.facebook.com"
            let url = try configuration.url("FACEBOOK_URL", default: standard)
            facebook = .init(
                url: url,
                pageURL: url == standard ? "https://www.facebook.com" : url,
                version: configuration.text("FACEBOOK_VERSION", default: "v24.0"),
                client: client,
                secret: secret
            )
        }
        // With `TWITTER_API` 1.1 this is an OAuth 1.0a key, which sign-in does not support.
        if configuration.text("TWITTER_API") != "1.1", let client = configuration.text("TWITTER_CLIENT_ID") {
            let standard = "https://api.twitter.com"
            let url = try configuration.url("TWITTER_URL", default: standard)
            twitter = .init(
                url: url,
                pageURL: url == standard ? "https://x.com" : url,
                client: client,
                secret: configuration.text("TWITTER_CLIENT_SECRET")
            )
        }
    }

    private static func list(_ text: String?) -> [String]? {
        let entries = (text ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        return entries.isEmpty ? nil : entries
    }

    /// Accepts an HTTPS address, an HTTP address of this machine, or an address with an app's own scheme (RFC 8252,
    /// section 7).
    private static func check(redirectURL url: String) throws {
        let parts = URLComponents(string: url)
        let isPlain = parts?.scheme == "http" && !["localhost", "127.0.0.1", "[::1]"].contains(parts?.host)
        let isScript = ["javascript", "data", "vbscript", "file", "blob"].contains(parts?.scheme?.lowercased())
        guard let parts, parts.scheme?.isEmpty == false, parts.fragment == nil, !isPlain, !isScript else {
            throw SettingError(
                "IDENTITY_REDIRECT_URLS",
                "has \"\(url)\"; an entry must be a full URL without a fragment, http only for localhost"
            )
        }
    }

    func providers(
        _ http: ProviderHTTP,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) -> [String: any IdentityProvider] {
        func calls(_ name: String) -> ProviderCalls { ProviderCalls(name: name, http: http, logger: logger) }
        var all: [any IdentityProvider] = openID.map { OpenIDProvider($0, http: http, logger: logger, now: now) }
        if let facebook { all.append(FacebookProvider(settings: facebook, calls: calls("facebook"))) }
        if let twitter { all.append(TwitterProvider(settings: twitter, calls: calls("twitter"))) }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    }
}
