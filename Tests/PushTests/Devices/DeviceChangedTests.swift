import AuthAPI
import Crypto
import Foundation
import Postgres
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

@testable import PushServer

@Suite("Published devices") struct DeviceChangedTests {
    private static let settings = ["EVENT_SUBSCRIBERS": "device.registration_changed=conversations"]

    private static func withSubscriber(
        change: (inout PushConfiguration) -> Void = { _ in },
        _ body: (PushFixture, EventRecorder) async throws -> Void
    ) async throws {
        let conversations = EventRecorder(callee: "conversations")
        try await withPush(
            settings: Self.settings,
            change: change,
            peers: ["conversations": conversations.client]
        ) { fixture in try await body(fixture, conversations) }
    }

    private static func changes(_ count: Int, at recorder: EventRecorder) async throws -> [DeviceChanged] {
        let events = try await recorder.events(count)
        #expect(events.allSatisfy { $0.type == "device.registration_changed" })
        return try events.map { try $0.content(as: DeviceChanged.self) }
    }

    /// The expected event about a device named `phone`.
    private static func change(
        of user: TestUser,
        _ platform: String? = nil,
        _ token: String? = nil,
        device: String = "phone"
    ) -> DeviceChanged {
        DeviceChanged(
            applicationId: PushFixture.application,
            userId: user.id.user,
            deviceId: device,
            sessionId: user.session,
            platform: platform,
            pushToken: token
        )
    }

    @Test("A registration, its replacement and its removal are published in this order")
    func order() async throws {
        try await Self.withSubscriber { fixture, conversations in
            let ann = fixture.ann
            try await ann.preferences.register(.phone("AA"))
            let device = try await ann.preferences.register(.phone("bb"))
            try await ann.preferences.remove(device)

            let published = try await Self.changes(3, at: conversations)
            #expect(published[0] == Self.change(of: ann, "ios_production", "aa"))
            #expect(published[1] == Self.change(of: ann, "ios_production", "bb"))
            #expect(published[2] == Self.change(of: ann))
            #expect(Set(published.map(\.key)) == ["user:other:ann"])
        }
    }

    @Test("The end of a session is published for each device that it registered")
    func sessionEnd() async throws {
        try await Self.withSubscriber { fixture, conversations in
            try await fixture.ann.preferences.register(.phone("aa"))
            try await fixture.ann.preferences.register(.phone("bb", deviceID: "tablet"))
            let ended = SessionEnded(
                applicationId: PushFixture.application,
                userId: "ann",
                sessionId: fixture.ann.session,
                deviceId: nil,
                reason: .ended
            )
            try await fixture.publish(ended)

            let published = try await Self.changes(4, at: conversations).suffix(2)
            #expect(Set(published.map(\.deviceId)) == ["phone", "tablet"])
            #expect(published.allSatisfy { !$0.isRegistered && $0.sessionId == fixture.ann.session })
        }
    }

    @Test("A user who loses a token to another user's device is published")
    func takenOver() async throws {
        try await Self.withSubscriber { fixture, conversations in
            try await fixture.ann.preferences.register(.phone("aa"))
            _ = try await conversations.events(1)
            try await fixture.bob.preferences.register(.phone("aa"))

            let published = try await Self.changes(3, at: conversations).dropFirst()
            #expect(published.contains(Self.change(of: fixture.ann)))
            #expect(published.contains(Self.change(of: fixture.bob, "ios_production", "aa")))
        }
    }

    @Test("A device beyond the limit is published as removed")
    func evicted() async throws {
        try await Self.withSubscriber(change: { $0.maximumDevicesPerUser = 1 }) { fixture, conversations in
            try await fixture.ann.preferences.register(.phone("aa", deviceID: "old"))
            try await fixture.ann.preferences.register(.phone("bb", deviceID: "new"))

            let published = try await Self.changes(3, at: conversations)
            #expect(published.last == Self.change(of: fixture.ann, device: "old"))
        }
    }

    @Test("A browser is published without a token")
    func browser() async throws {
        try await Self.withSubscriber { fixture, conversations in
            let key = Base64URL.encode(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
            let keys = WebSubscription.Keys(p256dh: key, auth: Base64URL.encode(Data(repeating: 7, count: 16)))
            let subscription = WebSubscription(endpoint: "https://push.example.org/secret", keys: keys)
            let draft = DeviceDraft(platform: "web", subscription: subscription, deviceId: "phone")
            try await fixture.ann.preferences.register(draft)

            let published = try await Self.changes(1, at: conversations)
            #expect(published == [Self.change(of: fixture.ann, "web")])
        }
    }

    @Test("A registration of an ended session is answered with the registration that the device has")
    func rejected() async throws {
        try await Self.withSubscriber { fixture, conversations in
            let (ann, later) = (fixture.ann, try await fixture.person("ann"))
            let ended = SessionEnded(
                applicationId: PushFixture.application,
                userId: "ann",
                sessionId: ann.session,
                deviceId: "phone",
                reason: .ended
            )
            try await fixture.publish(ended)
            try await later.preferences.register(.phone("bb"))
            let late = DeviceRegistered(
                applicationId: PushFixture.application,
                userId: "ann",
                sessionId: ann.session,
                deviceId: "phone",
                platform: "ios_production",
                pushToken: "aa"
            )
            try await fixture.publish(late, from: "conversations")

            let published = try await Self.changes(3, at: conversations)
            #expect(published[1] == Self.change(of: ann))
            #expect(published[2] == Self.change(of: later, "ios_production", "bb"))
        }
    }

    @Test("A device that is pruned is published as removed")
    func pruned() async throws {
        try await Self.withSubscriber { fixture, conversations in
            try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: "aa", deviceId: "phone"))
            _ = try await conversations.events(1)
            try await fixture.service.database.pool.run("UPDATE devices SET seen_at = seen_at - interval '20 years'")
            // Another instance prunes as soon as it starts.
            let auth = ServiceClient(callee: "auth", transport: AuthTransport(fixture.keys), retry: .never)
            try await TestService.with(
                PushService.self,
                over: fixture.service.database,
                settings: Self.settings,
                peers: .with(["auth": auth, "conversations": conversations.client])
            ) { _ in
                let published = try await Self.changes(2, at: conversations)
                #expect(published.last == Self.change(of: fixture.ann))
            }
        }
    }
}
