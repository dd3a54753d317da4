import AuthAPI
import Foundation
import Postgres
import PushAPI
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import PushServer

@Suite("Device owners") struct DeviceOwnerTests {
    private func withSubscriber(_ body: (PushFixture, EventRecorder) async throws -> Void) async throws {
        let social = EventRecorder(callee: "social")
        try await withPush(settings: Self.settings, peers: ["social": social.client]) { fixture in
            try await body(fixture, social)
        }
    }

    private static let settings = ["EVENT_SUBSCRIBERS": "devices.changed=social"]

    /// Runs another instance, which compares devices with their recorded owners at once.
    private func withAnotherInstance(
        _ fixture: PushFixture,
        _ social: EventRecorder,
        _ body: () async throws -> Void
    ) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(fixture.keys), retry: .never)
        try await TestService.with(
            PushService.self,
            over: fixture.service.database,
            settings: Self.settings,
            peers: .with(["auth": auth, "social": social.client])
        ) { _ in try await body() }
    }

    @Test("The first device of a user is published once")
    func first() async throws {
        try await withSubscriber { fixture, social in
            try await fixture.ann.preferences.register(.phone("aa"))
            try await fixture.ann.preferences.register(.phone("bb", deviceID: "tablet"))
            try await fixture.bob.preferences.register(.phone("cc"))

            let published = try await social.events(2).map { try $0.content(as: DevicesChanged.self) }
            #expect(Set(published.map(\.userId)) == ["ann", "bob"])
            #expect(published.allSatisfy { $0.hasDevice })
            try await eventually { try await fixture.rows("SELECT '' AS row FROM event_outbox").isEmpty }
            #expect(try await social.events(2).count == 2)
        }
    }

    @Test("The loss of the last device is published")
    func last() async throws {
        try await withSubscriber { fixture, social in
            let device = try await fixture.ann.preferences.register(.phone("aa"))
            try await fixture.bob.preferences.register(.phone("cc"))
            _ = try await social.events(2)
            try await fixture.ann.preferences.remove(device)

            try await withAnotherInstance(fixture, social) { _ = try await social.events(3) }

            let published = try await social.events(3).map { try $0.content(as: DevicesChanged.self) }
            #expect(
                published.last
                    == DevicesChanged(applicationId: PushFixture.application, userId: "ann", hasDevice: false)
            )
        }
    }

    @Test("Devices that an earlier release registered are published")
    func earlier() async throws {
        try await withSubscriber { fixture, social in
            try await fixture.ann.preferences.register(.phone("aa"))
            _ = try await social.events(1)
            try await fixture.service.database.pool.run("DELETE FROM device_owners")

            try await withAnotherInstance(fixture, social) { _ = try await social.events(2) }

            let published = try await social.events(2).map { try $0.content(as: DevicesChanged.self) }
            #expect(
                published.last == DevicesChanged(applicationId: PushFixture.application, userId: "ann", hasDevice: true)
            )
        }
    }

    @Test("Without a subscriber nothing is recorded")
    func unsubscribed() async throws {
        try await withPush { fixture in
            try await fixture.ann.preferences.register(.phone("aa"))

            #expect(try await fixture.rows("SELECT user_id AS row FROM device_owners").isEmpty)
        }
    }
}
