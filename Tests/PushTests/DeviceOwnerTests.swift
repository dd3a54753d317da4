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
    private func withSubscriber(_ body: (Scene, EventRecorder) async throws -> Void) async throws {
        let social = EventRecorder(callee: "social")
        try await withPush(settings: Self.settings, neighbours: ["social": social.client]) { scene in
            try await body(scene, social)
        }
    }

    private static let settings = ["EVENT_SUBSCRIBERS": "devices.changed=social"]

    /// Starts another instance, whose first comparison begins at once.
    private func withAnother(_ scene: Scene, _ social: EventRecorder, _ body: () async throws -> Void) async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(scene.keys), retry: .never)
        try await TestService.with(
            PushService.self,
            over: scene.service.database,
            settings: Self.settings,
            neighbours: .with(["auth": auth, "social": social.client])
        ) { _ in try await body() }
    }

    @Test("The first device of a user is published once")
    func first() async throws {
        try await withSubscriber { scene, social in
            try await scene.ann.preferences.register(.phone("aa"))
            try await scene.ann.preferences.register(.phone("bb", deviceID: "tablet"))
            try await scene.bob.preferences.register(.phone("cc"))

            let told = try await social.events(2).map { try $0.content(as: DevicesChanged.self) }
            #expect(Set(told.map(\.userId)) == ["ann", "bob"])
            #expect(told.allSatisfy { $0.hasDevice })
            try await eventually { try await scene.rows("SELECT '' AS row FROM event_outbox").isEmpty }
            #expect(try await social.events(2).count == 2)
        }
    }

    @Test("The loss of the last device is published")
    func last() async throws {
        try await withSubscriber { scene, social in
            let device = try await scene.ann.preferences.register(.phone("aa"))
            try await scene.bob.preferences.register(.phone("cc"))
            _ = try await social.events(2)
            try await scene.ann.preferences.remove(device)

            try await withAnother(scene, social) { _ = try await social.events(3) }

            let told = try await social.events(3).map { try $0.content(as: DevicesChanged.self) }
            #expect(told.last == DevicesChanged(applicationId: Scene.application, userId: "ann", hasDevice: false))
        }
    }

    @Test("Devices that an earlier release registered are published")
    func earlier() async throws {
        try await withSubscriber { scene, social in
            try await scene.ann.preferences.register(.phone("aa"))
            _ = try await social.events(1)
            try await scene.service.database.pool.run("DELETE FROM device_owners")

            try await withAnother(scene, social) { _ = try await social.events(2) }

            let told = try await social.events(2).map { try $0.content(as: DevicesChanged.self) }
            #expect(told.last == DevicesChanged(applicationId: Scene.application, userId: "ann", hasDevice: true))
        }
    }

    @Test("Without a subscriber nothing is recorded")
    func unsubscribed() async throws {
        try await withPush { scene in
            try await scene.ann.preferences.register(.phone("aa"))

            #expect(try await scene.rows("SELECT user_id AS row FROM device_owners").isEmpty)
        }
    }
}
