import Foundation
import SocialAPI
import Testing
import Wire

@testable import roost

/// Tests of the settings that services receive when they run with the sandbox.
@Suite("Sandbox credentials") struct SandboxCredentialsTests {
    private static let text = """
        {"account": "roost", "authority": "PEM",
         "apns": {"key": "K", "keyId": "I", "teamId": "T", "topic": "org.example.roost",
                  "url": "https://127.0.0.1:8091", "sandboxUrl": "https://127.0.0.1:8092"},
         "fcm": {"serviceAccount": {"project_id": "p"}, "url": "http://127.0.0.1:8090/fcm",
                 "tokenUrl": "http://127.0.0.1:8090/fcm/token"},
         "mail": {"url": "smtp://roost:secret@127.0.0.1:8093", "from": "no-reply@example.org"}}
        """

    @Test("Push gets the sandbox's credentials where the operator has given none")
    func pushCredentials() throws {
        let sandbox = try WireJSON.decoder().decode(SandboxCredentials.self, from: Data(Self.text.utf8))
        let given = ["PORT": "8085", "APNS_KEY": "mine", "APNS_TOPIC": "mine", "ALLOWED_PRIVATE_HOSTS": "10.0.0.7:1"]

        let none = try sandbox.added(to: ["PORT": "8085", "APNS_TOPIC": "unused"])
        let some = try sandbox.added(to: given)

        #expect(none["PORT"] == "8085")
        #expect(none["APNS_KEY"] == "K")
        #expect(none["APNS_TOPIC"] == "org.example.roost")
        #expect(none["APNS_SANDBOX_URL"] == "https://127.0.0.1:8092")
        #expect(none["TRUSTED_CA"] == "PEM")
        #expect(none["FCM_SERVICE_ACCOUNT"] == #"{"project_id":"p"}"#)
        #expect(none["ALLOWED_PRIVATE_HOSTS"] == "127.0.0.1:8090,127.0.0.1:8091")
        #expect(some["APNS_KEY"] == "mine")
        #expect(some["APNS_TOPIC"] == "mine")
        #expect(some["APNS_URL"] == nil)
        #expect(some["FCM_URL"] == "http://127.0.0.1:8090/fcm")
        #expect(some["ALLOWED_PRIVATE_HOSTS"] == "10.0.0.7:1,127.0.0.1:8090,127.0.0.1:8091")
    }

    @Test("Mail goes to the sandbox unless the operator has given a server")
    func sandboxMail() throws {
        let sandbox = try WireJSON.decoder().decode(SandboxCredentials.self, from: Data(Self.text.utf8))

        let none = sandbox.addedForMail(to: ["PORT": "8081", "SMTP_URL": ""])
        let some = sandbox.addedForMail(to: ["SMTP_URL": "smtps://mail.example.org"])

        #expect(none["SMTP_URL"] == "smtp://roost:secret@127.0.0.1:8093")
        #expect(none["SMTP_FROM"] == "no-reply@example.org")
        #expect(none["TRUSTED_CA"] == "PEM")
        #expect(none["PORT"] == "8081")
        #expect(some == ["SMTP_URL": "smtps://mail.example.org"])
    }
}

@Suite("Sandbox networks") struct SandboxNetworksTests {
    private static func sandbox(_ names: String...) throws -> SandboxNetworks {
        let fake = names.map { name in
            """
            {"network": "\(name)", "url": "http://127.0.0.1:8090/\(name)", "clientId": "I", "clientSecret": "S",
             "accounts": [{"name": "ana", "id": "ana.test", "accessToken": "T", "accessTokenSecret": "TS",
                           "refreshToken": "R", "password": "P"}]}
            """
        }
        let text = #"{"networks": [\#(fake.joined(separator: ","))]}"#
        return try JSONDecoder().decode(SandboxNetworks.self, from: Data(text.utf8))
    }

    @Test("Social gets the sandbox's networks where the operator has given none")
    func socialNetworks() throws {
        let sandbox = try Self.sandbox("reddit", "rpan", "mastodon", "bluesky", "facebook")

        let all = sandbox.added(to: ["PORT": "8083", "BLUESKY_URL": "https://bsky.social", "REDDIT_CLIENT_ID": ""])
        let own = sandbox.added(to: ["REDDIT_CLIENT_ID": "mine", "ALLOWED_PRIVATE_HOSTS": "10.0.0.7:1"])

        #expect(all["REDDIT_URL"] == "http://127.0.0.1:8090/reddit")
        #expect(all["REDDIT_CLIENT_SECRET"] == "S")
        #expect(all["RPAN_URL"] == "http://127.0.0.1:8090/rpan")
        #expect(all["RPAN_CLIENT_ID"] == nil)
        #expect(all["BLUESKY_URL"] == "https://bsky.social")
        #expect(all["BLUESKY_CLIENT_ID"] == nil)
        #expect(all["MASTODON_URL"] == nil)
        #expect(all["PORT"] == "8083")
        #expect(all["FACEBOOK_VERIFY_TOKEN"]?.isEmpty == false)
        #expect(all["REDDIT_VERIFY_TOKEN"] == nil)
        #expect(all["ALLOWED_PRIVATE_HOSTS"] == "127.0.0.1:8090")
        #expect(all["SOCIAL_REDIRECT_URLS"] == "http://127.0.0.1:8090/")
        #expect(own["REDDIT_CLIENT_ID"] == "mine")
        #expect(own["REDDIT_URL"] == nil)
        #expect(own["ALLOWED_PRIVATE_HOSTS"] == "10.0.0.7:1,127.0.0.1:8090")
    }

    @Test("The demo links accounts at the networks that the sandbox provides")
    func demoLinks() throws {
        let sandbox = try Self.sandbox("reddit", "rpan", "mastodon", "bluesky", "facebook")

        let fake = sandbox.used(for: ["FACEBOOK_CLIENT_ID": "mine", "REDDIT_URL": ""])

        #expect(fake.map(\.network) == ["reddit", "mastodon", "bluesky"])
        let named = sandbox.used(for: ["REDDIT_URL": "http://127.0.0.1:8090/reddit", "REDDIT_CLIENT_ID": "I"])
        #expect(named.map(\.network).contains("reddit"))
        let drafts = try fake.map { LinkDraft(try #require($0.accounts.first), on: $0) }
        #expect(
            drafts == [
                LinkDraft(accessToken: "T", refreshToken: "R"),
                LinkDraft(accessToken: "T", instance: "http://127.0.0.1:8090"),
                LinkDraft(accessToken: "P", id: "ana.test"),
            ]
        )
    }
}

@Suite("Sandbox identity providers") struct SandboxIdentitiesTests {
    @Test("Auth gets the sandbox's identity providers where the operator has given none")
    func signInProviders() throws {
        let text = #"""
            {"identities": [
              {"provider": "apple", "issuer": "http://127.0.0.1:8090/apple", "clientId": "A", "key": "PEM",
               "keyId": "K", "teamId": "T"},
              {"provider": "google", "issuer": "http://127.0.0.1:8090/google", "clientId": "G", "clientSecret": "S"}
            ]}
            """#
        let sandbox = try JSONDecoder().decode(SandboxIdentities.self, from: Data(text.utf8))

        let all = sandbox.added(to: ["PORT": "8081", "GOOGLE_CLIENT_ID": ""])
        let own = sandbox.added(to: ["GOOGLE_CLIENT_ID": "mine"])

        #expect(all["GOOGLE_ISSUER"] == "http://127.0.0.1:8090/google")
        #expect(all["GOOGLE_CLIENT_SECRET"] == "S")
        #expect(all["APPLE_KEY"] == "PEM")
        #expect(all["APPLE_TEAM_ID"] == "T")
        #expect(all["APPLE_CLIENT_SECRET"] == nil)
        #expect(all["PORT"] == "8081")
        #expect(own["GOOGLE_CLIENT_ID"] == "mine")
        #expect(own["GOOGLE_ISSUER"] == nil)
        #expect(own["APPLE_KEY_ID"] == "K")
    }
}
