import Configuration
import Crypto
import Foundation
import ServiceHost
import Testing

@testable import AuthServer

/// Settings of identity providers: an invalid value stops the start with the name of the setting.
@Suite("Settings of identity providers") struct IdentityConfigurationTests {
    private func read(_ settings: [String: String]) throws -> IdentityConfiguration {
        try IdentityConfiguration(
            ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
        )
    }

    @Test("Without settings there is no provider")
    func noProviders() throws {
        let settings = try read([:])
        #expect(settings.openID.isEmpty)
        #expect(settings.facebook == nil)
        #expect(settings.twitter == nil)
        #expect(settings.redirectURLs.isEmpty)
    }

    @Test("Google has several clients, and an alias only for its own issuer")
    func googleClients() throws {
        let google = try #require(try read(["GOOGLE_CLIENT_ID": "web, ios ,android"]).openID.first)
        #expect(google.name == "google")
        #expect(google.clients == ["web", "ios", "android"])
        #expect(google.issuer == "https://accounts.google.com")
        #expect(google.issuerAliases == ["accounts.google.com"])
        let custom = try #require(
            try read(["GOOGLE_CLIENT_ID": "web", "GOOGLE_ISSUER": "http://127.0.0.1:8090/google/"]).openID.first
        )
        #expect(custom.issuer == "http://127.0.0.1:8090/google")
        #expect(custom.issuerAliases.isEmpty)
    }

    @Test("Twitter needs its second API, and Facebook its secret")
    func twitterOAuth1() throws {
        #expect(try read(["TWITTER_CLIENT_ID": "key"]).twitter?.client == "key")
        #expect(try read(["TWITTER_CLIENT_ID": "key", "TWITTER_API": "1.1"]).twitter == nil)
        // Facebook verifies tokens with the secret of the application.
        #expect(try read(["FACEBOOK_CLIENT_ID": "id"]).facebook == nil)
    }

    @Test("Apple's key must be complete and readable")
    func appleKeySettings() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        let whole = ["APPLE_CLIENT_ID": "org.example", "APPLE_KEY": pem, "APPLE_KEY_ID": "K", "APPLE_TEAM_ID": "T"]
        let apple = try #require(try read(whole).openID.first)
        #expect(apple.usesFormPost)
        guard case .apple(let secret) = apple.secret else { throw SettingError("APPLE_KEY", "was not read") }
        #expect(secret.team == "T")
        #expect(secret.keyID == "K")

        #expect(throws: SettingError.self) { try read(whole.merging(["APPLE_TEAM_ID": ""]) { $1 }) }
        let rubbish = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"
        #expect(throws: SettingError.self) { try read(whole.merging(["APPLE_KEY": rubbish]) { $1 }) }
    }

    @Test("OpenID providers are read from a JSON object")
    func openIDProviders() throws {
        let text = #"""
            {"corp": {"issuer": "https://id.example.org/", "clientId": ["web", "app"], "clientSecret": "s",
             "trustEmail": true}, "club": {"issuer": "http://127.0.0.1:9400", "clientId": "club", "scope": "openid"}}
            """#
        let all = try read(["OPENID_PROVIDERS": text]).openID
        #expect(all.map(\.name) == ["club", "corp"])
        // An issuer is compared exactly, so its trailing slash stays.
        #expect(all[1].issuer == "https://id.example.org/")
        #expect(all[1].clients == ["web", "app"])
        guard case .always = all[1].emailTrust, case .never = all[0].emailTrust else {
            throw SettingError("OPENID_PROVIDERS", "was not read")
        }
        #expect(all[0].scope == "openid")
    }

    @Test(
        "An invalid list of providers stops the start",
        arguments: [
            "[]", "{", #"{"google": {"issuer": "https://a", "clientId": "a"}}"#, #"{"Corp": {}}"#, #"{"corp": 1}"#,
            #"{"corp": {"issuer": "https://a"}}"#, #"{"corp": {"clientId": "a"}}"#, #"{"": {}}"#,
            #"{"corp": {"issuer": "ftp://a", "clientId": "a"}}"#, #"{"corp": {"issuer": "https://a", "clientId": []}}"#,
            #"{"corp": {"issuer": "https://a?b", "clientId": "a"}}"#,
            #"{"corp": {"issuer": "https://a", "clientId": ""}}"#,
            #"{"corp": {"issuer": "https://a", "clientId": "a", "secret": "b"}}"#,
            #"{"corp": {"issuer": "https://a", "clientId": "a", "scope": "profile"}}"#,
        ]
    )
    func invalidProviders(_ text: String) throws {
        #expect(throws: SettingError.self) { try OpenIDProviderList.read(text, namesTaken: ["google"]) }
    }

    @Test(
        "A redirect URL that is not safe stops the start",
        arguments: [
            "http://example.org/back", "https://example.org/back#x", "javascript:alert(1)", "back", "data:text/html,x",
            "//x",
        ]
    )
    func unsafeRedirects(_ url: String) throws {
        #expect(throws: SettingError.self) { try read(["IDENTITY_REDIRECT_URLS": "https://example.org/ok,\(url)"]) }
    }

    @Test(
        "HTTPS, local addresses and an app's own scheme are valid redirect URLs",
        arguments: [
            "https://example.org/back", "http://localhost:5173/in", "http://127.0.0.1/in", "org.example.app:/in",
        ]
    )
    func safeRedirects(_ url: String) throws {
        #expect(try read(["IDENTITY_REDIRECT_URLS": url]).redirectURLs == [url])
    }

    @Test("Secrets do not appear in descriptions")
    func redactedDescription() throws {
        let settings = try read([
            "GOOGLE_CLIENT_ID": "web", "GOOGLE_CLIENT_SECRET": "hush", "FACEBOOK_CLIENT_ID": "1",
            "FACEBOOK_CLIENT_SECRET": "hush", "TWITTER_CLIENT_ID": "2", "TWITTER_CLIENT_SECRET": "hush",
        ])
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!dumped.contains("hush"))
        #expect(!"\(settings)".contains("hush"))
    }
}
