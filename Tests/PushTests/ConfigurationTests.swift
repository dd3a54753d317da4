import Configuration
import Crypto
import Foundation
import PushProviders
import ServiceHost
import Testing
import Wire

@testable import PushServer

@Suite("Push configuration") struct ConfigurationTests {
    @Test("A key is read from PEM text, from one line with escaped line breaks, or from a file")
    func keyFiles() throws {
        let key = P256.Signing.PrivateKey()
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("\(key.pemRepresentation)\n".utf8).write(to: file)
        let oneLine = key.pemRepresentation.replacing("\n", with: "\\n")
        for setting in [key.pemRepresentation, oneLine, file.path(percentEncoded: false)] {
            let settings = try Self.read([
                "VAPID_PRIVATE_KEY": setting, "APNS_KEY": setting, "APNS_KEY_ID": "K", "APNS_TEAM_ID": "T",
                "APNS_TOPIC": "org.example.app", "TRUSTED_CA": setting,
            ])
            #expect(settings.vapidKey?.publicKey == Base64URL.encode(key.publicKey.x963Representation))
            #expect(settings.apns?.key.contains("-----BEGIN PRIVATE KEY-----\n") == true)
            #expect(settings.trustedCA == settings.apns?.key)
            #expect(settings.apns?.topic == "org.example.app")
        }
        // The service account is JSON, so the key's line breaks are JSON escapes and stay.
        let account = #" {"project_id": "p", "private_key": "-----BEGIN PRIVATE KEY-----\nMII\n"}"#
        #expect(try Self.read(["FCM_SERVICE_ACCOUNT": account]).fcmServiceAccount == account)
    }

    @Test("Without settings no provider is configured, and the URLs have defaults")
    func defaults() throws {
        let settings = try Self.read([:])
        #expect(settings.apns == nil)
        #expect(settings.fcmServiceAccount == nil)
        #expect(settings.vapidKey == nil)
        #expect(settings.apnsURL == "https://api.push.apple.com")
        #expect(try Self.read(["FCM_URL": "http://127.0.0.1:8090/fcm/"]).fcmURL == "http://127.0.0.1:8090/fcm")
        #expect(try Self.read(["PUBLIC_URL": "https://example.org"]).vapidSubject == "https://example.org")
        #expect(try Self.read(["VAPID_SUBJECT": "mailto:a@b.org"]).vapidSubject == "mailto:a@b.org")
    }

    @Test(
        "An invalid setting is rejected by name, without the text of a key",
        arguments: [
            (["APNS_KEY": "-----BEGIN PRIVATE KEY-----"], "APNS_KEY_ID"),
            (["APNS_TOPIC": "org.example.app"], "APNS_KEY"),
            (["APNS_KEY": "/no/such/file"], "APNS_KEY"),
            (["FCM_SERVICE_ACCOUNT": "/no/such/file"], "FCM_SERVICE_ACCOUNT"),
            (["VAPID_PRIVATE_KEY": "/no/such/file"], "VAPID_PRIVATE_KEY"),
            (
                ["VAPID_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"],
                "VAPID_PRIVATE_KEY"
            ),
            (["VAPID_SUBJECT": "me@example.org"], "VAPID_SUBJECT"),
            (["APNS_URL": "api.push.apple.com"], "APNS_URL"),
            (["FCM_TOKEN_URL": "https://"], "FCM_TOKEN_URL"),
            (["ALLOWED_PRIVATE_HOSTS": "127.0.0.1"], "ALLOWED_PRIVATE_HOSTS"),
            (["ALLOWED_PRIVATE_HOSTS": "127.0.0.1:1,,"], "ALLOWED_PRIVATE_HOSTS"),
            (["ALLOWED_PRIVATE_HOSTS": "http://127.0.0.1:1"], "ALLOWED_PRIVATE_HOSTS"),
            (["PUSH_LOG_RETENTION_DAYS": "0"], "PUSH_LOG_RETENTION_DAYS"),
        ]
    )
    func invalidSettings(settings: [String: String], name: String) {
        #expect {
            try Self.read(settings)
        } throws: { error in
            // The error starts with the name and has no text of a key.
            "\(error)".hasPrefix("\(name) ") && !"\(error)".contains("AAAA")
        }
    }

    private static func read(_ settings: [String: String]) throws -> PushConfiguration {
        try PushConfiguration(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings)))
    }
}
