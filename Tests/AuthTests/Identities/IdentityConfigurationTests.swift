import Configuration
import Crypto
import Foundation
import ServiceHost
import Testing

@testable import AuthServer

/// Settings of identity providers: what is no sense ends the start, with the setting's name.
@Suite struct IdentityConfigurationTests {
    private func read(_ settings: [String: String]) throws -> IdentityConfiguration {
        try IdentityConfiguration(
            ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
        )
    }

    @Test func noProviders() throws {
        let settings = try read([:])
        #expect(settings.openID.isEmpty && settings.facebook == nil && settings.twitter == nil)
        #expect(settings.redirectURLs.isEmpty)
    }

    @Test func googleClients() throws {
        let google = try #require(try read(["GOOGLE_CLIENT_ID": "web, ios ,android"]).openID.first)
        #expect(google.name == "google" && google.clients == ["web", "ios", "android"])
        #expect(google.issuer == "https://accounts.google.com" && google.issuerAliases == ["accounts.google.com"])
        let played = try #require(
            try read(["GOOGLE_CLIENT_ID": "web", "GOOGLE_ISSUER": "http://127.0.0.1:8090/google/"]).openID.first
        )
        #expect(played.issuer == "http://127.0.0.1:8090/google" && played.issuerAliases.isEmpty)
    }

    @Test func twitterOAuth1() throws {
        #expect(try read(["TWITTER_CLIENT_ID": "key"]).twitter?.client == "key")
        #expect(try read(["TWITTER_CLIENT_ID": "key", "TWITTER_API": "1.1"]).twitter == nil)
        // Facebook is asked with the secret of its application, or not at all.
        #expect(try read(["FACEBOOK_CLIENT_ID": "id"]).facebook == nil)
    }

    @Test func appleKeySettings() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        let whole = ["APPLE_CLIENT_ID": "org.example", "APPLE_KEY": pem, "APPLE_KEY_ID": "K", "APPLE_TEAM_ID": "T"]
        let apple = try #require(try read(whole).openID.first)
        #expect(apple.usesFormPost)
        guard case .apple(let secret) = apple.secret else { throw SettingError("APPLE_KEY", "was not read") }
        #expect(secret.team == "T" && secret.keyID == "K")

        #expect(throws: SettingError.self) { try read(whole.merging(["APPLE_TEAM_ID": ""]) { $1 }) }
        let rubbish = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"
        #expect(throws: SettingError.self) { try read(whole.merging(["APPLE_KEY": rubbish]) { $1 }) }
    }

    @Test func openIDProviders() throws {
        let text = #"""
            {"corp": {"issuer": "https://id.example.org/", "clientId": ["web", "app"], "clientSecret": "s",
             "trustEmail": true}, "club": {"issuer": "http://127.0.0.1:9400", "clientId": "club", "scope": "openid"}}
            """#
        let all = try read(["OPENID_PROVIDERS": text]).openID
        #expect(all.map(\.name) == ["club", "corp"])
        // Its identifier is compared letter by letter, with the slash that it has.
        #expect(all[1].issuer == "https://id.example.org/" && all[1].clients == ["web", "app"])
        guard case .always = all[1].emailTrust, case .never = all[0].emailTrust else {
            throw SettingError("OPENID_PROVIDERS", "was not read")
        }
        #expect(all[0].scope == "openid")
    }

    @Test(arguments: [
        "[]", "{", #"{"google": {"issuer": "https://a", "clientId": "a"}}"#, #"{"Corp": {}}"#, #"{"corp": 1}"#,
        #"{"corp": {"issuer": "https://a"}}"#, #"{"corp": {"clientId": "a"}}"#, #"{"": {}}"#,
        #"{"corp": {"issuer": "ftp://a", "clientId": "a"}}"#, #"{"corp": {"issuer": "https://a", "clientId": []}}"#,
        #"{"corp": {"issuer": "https://a?b", "clientId": "a"}}"#, #"{"corp": {"issuer": "https://a", "clientId": ""}}"#,
        #"{"corp": {"issuer": "https://a", "clientId": "a", "secret": "b"}}"#,
        #"{"corp": {"issuer": "https://a", "clientId": "a", "scope": "profile"}}"#,
    ])
    func whatIsNoListOfProvidersEndsTheStart(_ text: String) throws {
        #expect(throws: SettingError.self) { try OpenIDProviderList.read(text, namesTaken: ["google"]) }
    }

    @Test(arguments: [
        "http://example.org/back", "https://example.org/back#x", "javascript:alert(1)", "back", "data:text/html,x",
        "//x",
    ])
    func unsafeRedirects(_ url: String) throws {
        #expect(throws: SettingError.self) { try read(["IDENTITY_REDIRECT_URLS": "https://example.org/ok,\(url)"]) }
    }

    @Test(arguments: [
        "https://example.org/back", "http://localhost:5173/in", "http://127.0.0.1/in", "org.example.app:/in",
    ])
    func safeRedirects(_ url: String) throws {
        #expect(try read(["IDENTITY_REDIRECT_URLS": url]).redirectURLs == [url])
    }

    @Test func redactedDescription() throws {
        let settings = try read([
            "GOOGLE_CLIENT_ID": "web", "GOOGLE_CLIENT_SECRET": "hush", "FACEBOOK_CLIENT_ID": "1",
            "FACEBOOK_CLIENT_SECRET": "hush", "TWITTER_CLIENT_ID": "2", "TWITTER_CLIENT_SECRET": "hush",
        ])
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!dumped.contains("hush") && !"\(settings)".contains("hush"))
    }
}
