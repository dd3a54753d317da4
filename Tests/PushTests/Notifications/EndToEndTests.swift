import Foundation
import HTTPTypes
import PushAPI
import SandboxServer
import ServiceClient
import TestSupport
import Testing
import Wire

/// From the request of a service to the notification on a device, through push services that validate it.
@Suite("Push end to end") struct EndToEndTests {
    private static let phone = String(repeating: "ab", count: 32)
    private static let tablet = String(repeating: "cd", count: 32)

    private static func withDevices(
        settings more: [String: String] = [:],
        peers: [String: ServiceClient] = [:],
        _ body: (PushFixture, Sandbox, PushClient) async throws -> Void
    ) async throws {
        try await Sandbox.run { sandbox in
            try await withPush(settings: try settings(for: sandbox).merging(more) { $1 }, peers: peers) { fixture in
                let subscription = String(decoding: try WireJSON.encoder().encode(sandbox.subscribe()), as: UTF8.self)
                for device in [
                    #"{"platform": "ios_production", "token": "\#(phone)", "deviceId": "phone"}"#,
                    #"{"platform": "ios_sandbox", "token": "\#(tablet)", "deviceId": "tablet"}"#,
                    #"{"platform": "gcm", "token": "droid:1", "deviceId": "droid"}"#,
                    #"{"platform": "web", "subscription": \#(subscription), "deviceId": "browser"}"#,
                ] {
                    let response = try await fixture.ann.ask(.post, "/devices", device)
                    try #require(response.status == 200, "\(response.text)")
                }
                try await body(
                    fixture,
                    sandbox,
                    PushClient(fixture.service.peerClient("conversations", callee: "push"))
                )
            }
        }
    }

    private static func settings(for sandbox: Sandbox) throws -> [String: String] {
        let known = try sandbox.credentials()
        let account = String(decoding: try WireJSON.encoder().encode(known.fcm.serviceAccount), as: UTF8.self)
        return [
            "APNS_KEY": known.apns.key, "APNS_KEY_ID": known.apns.keyId, "APNS_TEAM_ID": known.apns.teamId,
            "APNS_TOPIC": known.apns.topic, "APNS_URL": known.apns.url, "APNS_SANDBOX_URL": known.apns.sandboxUrl,
            "FCM_SERVICE_ACCOUNT": account, "FCM_URL": known.fcm.url, "FCM_TOKEN_URL": known.fcm.tokenUrl,
            "TRUSTED_CA": known.authority,
            "VAPID_PRIVATE_KEY": known.vapid.privateKey, "VAPID_SUBJECT": known.vapid.subject,
            "ALLOWED_PRIVATE_HOSTS": sandbox.url.replacing("http://", with: ""),
        ]
    }

    /// Returns the outcomes by device ID, oldest first.
    private static func outcomes(_ fixture: PushFixture) async throws -> [String: [String]] {
        let page = try await fixture.ann.ask(.get, "/notifications/log").decode(Page<NotificationRecord>.self)
        return Dictionary(grouping: page.items.reversed()) { $0.deviceId ?? "" }.mapValues { entries in
            entries.map { ([$0.outcome.rawValue] + [$0.reason].compactMap(\.self)).joined(separator: " ") }
        }
    }

    @Test("A notification reaches devices of every platform with all its fields")
    func everyPlatform() async throws {
        try await Self.withDevices { fixture, sandbox, client in
            var message = fixture.message("1", to: ["ann"])
            message.body = String(repeating: "é", count: 4_000)
            message.data = .object(["chatId": .integer(9_007_199_254_740_991), "url": .string("https://example.org")])
            message.badge = .increment
            message.sound = "whistle"
            try await client.notify([message])
            try await sandbox.received.wait(forTotal: 4)

            let received = sandbox.received.all().map(NotificationView.init)
            #expect(Set(received.map(\.device)).count == 4)
            for notification in received {
                #expect(notification.title == "Hello", "\(notification.service)")
                #expect(notification.kind == "alert", "\(notification.service)")
                #expect(notification.badge == 1, "\(notification.service)")
                let body = try #require(notification.body)
                #expect(body.hasPrefix("éé"), "\(notification.service): \(body.count)")
                #expect(body.count < 4_000, "\(notification.service): \(body.count)")
            }
            let apple = try #require(received.first { $0.device == Self.phone })
            #expect(apple.sound == "whistle.caf")
            #expect(apple.environment == "production")
            #expect(apple.payload["chatId"].int == 9_007_199_254_740_991)
            #expect(apple.url == "https://example.org")
            try await eventually {
                let outcomes = try await Self.outcomes(fixture)
                return outcomes.count == 4 && outcomes.values.allSatisfy { $0 == ["sent"] }
            }
        }
    }

    @Test("A provider's error removes the device, corrects its environment or is retried")
    func providerErrors() async throws {
        try await Self.withDevices { fixture, sandbox, client in
            try sandbox.script.add(ScriptRule(service: .apns, token: Self.phone, reason: "Unregistered"))
            try sandbox.script.add(ScriptRule(service: .apns, token: Self.tablet, reason: "BadDeviceToken", times: 1))
            try sandbox.script.add(ScriptRule(service: .fcm, reason: "UNAVAILABLE", times: 1))
            try sandbox.script.add(ScriptRule(service: .webPush, behaviour: .reset, times: 1))

            try await client.notify([fixture.message("1", to: ["ann"])])
            try await sandbox.received.wait(forTotal: 3)
            try await eventually {
                let outcomes = try await Self.outcomes(fixture)
                return outcomes.count == 4
                    && outcomes.values.allSatisfy { $0 == ["sent"] || $0.first?.hasPrefix("failed") == true }
            }

            let outcomes = try await Self.outcomes(fixture)
            #expect(outcomes["phone"]?.first == "failed Unregistered")
            #expect(outcomes["tablet"] == ["sent"])
            #expect(outcomes["droid"] == ["sent"])
            #expect(outcomes["browser"] == ["sent"])
            // The tablet's token is valid in the other environment, which is stored.
            #expect(
                try await fixture.rows("SELECT device_id || ' ' || platform AS row FROM devices ORDER BY 1") == [
                    "browser web", "droid gcm", "tablet ios_production",
                ]
            )
        }
    }

    @Test("A device that a provider rejects or moves to the other environment is published")
    func publishedFeedback() async throws {
        let conversations = EventRecorder(callee: "conversations")
        let settings = ["EVENT_SUBSCRIBERS": "device.registration_changed=conversations"]
        try await Self.withDevices(
            settings: settings,
            peers: ["conversations": conversations.client]
        ) { fixture, sandbox, client in
            _ = try await conversations.events(4)
            try sandbox.script.add(ScriptRule(service: .apns, token: Self.phone, reason: "Unregistered"))
            try sandbox.script.add(ScriptRule(service: .apns, token: Self.tablet, reason: "BadDeviceToken", times: 1))
            try await client.notify([fixture.message("1", to: ["ann"])])

            let changes = try await conversations.events(6).map { try $0.content(as: DeviceChanged.self) }.suffix(2)
            let phone = try #require(changes.first { $0.deviceId == "phone" })
            #expect(!phone.isRegistered && phone.pushToken == nil)
            let tablet = try #require(changes.first { $0.deviceId == "tablet" })
            #expect(tablet.platform == "ios_production" && tablet.pushToken == Self.tablet)
        }
    }

    @Test("A notification that is too large for every provider fails and is listed")
    func payloadTooLarge() async throws {
        try await Self.withDevices { fixture, _, client in
            var message = fixture.message("1", to: ["ann"])
            message.data = .object(["x": .string(String(repeating: "x", count: 5_000))])
            try await client.notify([message])
            try await eventually {
                let outcomes = try await Self.outcomes(fixture)
                return outcomes.count == 4 && outcomes.values.allSatisfy { $0 == ["failed PayloadTooLarge"] }
            }

            let failures = try await PushClient(fixture.service.peerClient("roost", callee: "push")).failures()
            #expect(failures.count == 4)
            #expect(failures.allSatisfy { $0.reason == "PayloadTooLarge" })
        }
    }
}
