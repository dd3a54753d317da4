import AuthAPI
import struct ConversationsAPI.DeviceBadge
import Foundation
import HTTPTypes
import Postgres
import PushAPI
import TestSupport
import Testing
import Wire

@testable import PushServer

@Suite("Device events") struct DeviceEventTests {
    @Test("A registration event of two services registers one device with a normalized token")
    func deviceRegistered() async throws {
        try await withPush { fixture in
            let event = fixture.ann.registered("<AB cd>", platform: "ios_production")
            try await fixture.publish(event)
            try await fixture.publish(event, from: "conversations")

            let devices = try await fixture.ann.preferences.devices()
            #expect(devices.map(\.deviceId) == ["phone"])
            #expect(devices.first?.current == true)
            #expect(try await fixture.rows("SELECT token AS row FROM devices") == ["abcd"])
        }
    }

    @Test("A registration event with an unusable token, platform or device ID is ignored")
    func unusableToken() async throws {
        try await withPush { fixture in
            try await fixture.publish(fixture.ann.registered("no token of Apple's", platform: "ios_production"))
            try await fixture.publish(fixture.ann.registered("x", platform: "web"))
            try await fixture.publish(fixture.ann.registered("x", platform: "fax"))
            try await fixture.publish(fixture.ann.registered("x", deviceID: ""))

            #expect(try await fixture.ann.preferences.devices().isEmpty)
        }
    }

    @Test("The end of a session removes its devices and prevents later registrations")
    func sessionEnded() async throws {
        try await withPush { fixture in
            let again = try await TestUser(fixture.ann.id, at: fixture.service, fixture.keys)
            try await fixture.ann.preferences.register(.phone("aa", deviceID: "a"))
            try await fixture.publish(fixture.ann.registered("bb", deviceID: "b"))
            let kept = try await again.preferences.register(.phone("cc", deviceID: "c"))

            try await fixture.publish(fixture.ann.ended)

            #expect(try await again.preferences.devices() == [kept])
            // A late event or request of the ended session registers nothing.
            try await fixture.publish(fixture.ann.registered("dd", deviceID: "d"), from: "conversations")
            let response = try await fixture.ann.ask(.post, "/devices", #"{"platform": "gcm", "token": "ee"}"#)
            #expect(response.status == 403)
            #expect(response.problem?.code == "session_ended")
            #expect(try await again.preferences.devices() == [kept])
            // Another session can register the same device.
            let over = try await again.preferences.register(.phone("aa", deviceID: "a"))
            #expect(over.current)
        }
    }

    @Test("A registration concurrent with the end of its session leaves no device")
    func registrationDuringSessionEnd() async throws {
        try await withPush { fixture in
            for round in 0..<10 {
                let person = try await fixture.person("person \(round)")
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<4 {
                        tasks.addTask {
                            let (token, device) = ("\(round).\(number)", "\(number)")
                            let body = #"{"platform": "gcm", "token": "\#(token)", "deviceId": "\#(device)"}"#
                            // A request after the end of the session is rejected with 403.
                            let status = try await person.ask(.post, "/devices", body).status
                            #expect([200, 403].contains(status))
                        }
                    }
                    tasks.addTask { try await fixture.publish(person.ended) }
                    try await tasks.waitForAll()
                }
            }
            #expect(try await fixture.rows("SELECT token AS row FROM devices").isEmpty)
        }
    }

    @Test("A badge event sets the count of one device, to at most 1,000,000")
    func deviceBadge() async throws {
        try await withPush { fixture in
            for name in ["phone", "tablet"] {
                try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: name, deviceId: name))
            }
            for badge in [7, 2_000_000] as [Int64] {
                let change = DeviceBadge(
                    applicationId: PushFixture.application,
                    userId: "ann",
                    deviceId: "phone",
                    badge: badge
                )
                try await fixture.publish(change, from: "conversations")
                let expected = ["phone \(min(badge, 1_000_000))", "tablet 0"]
                let rows = try await fixture.rows(
                    "SELECT concat_ws(' ', device_id, badge) AS row FROM devices ORDER BY device_id"
                )
                #expect(rows == expected)
            }
        }
    }

    @Test("A badge is set on the devices that the session registered under other ids, and on no other user's")
    func deviceBadgeOfSession() async throws {
        try await withPush { fixture in
            let again = try await fixture.person("ann")
            try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: "a", deviceId: "own id"))
            try await again.preferences.register(DeviceDraft(platform: "gcm", token: "b", deviceId: "other session"))
            try await fixture.bob.preferences.register(DeviceDraft(platform: "gcm", token: "c", deviceId: "bob's"))
            let change = DeviceBadge(
                applicationId: PushFixture.application,
                userId: "ann",
                deviceId: fixture.ann.session,
                sessionId: fixture.ann.session,
                badge: 7
            )
            try await fixture.publish(change, from: "conversations")

            let rows = try await fixture.rows(
                "SELECT concat_ws(' ', device_id, badge) AS row FROM devices ORDER BY device_id"
            )
            #expect(rows == ["bob's 0", "other session 0", "own id 7"])
        }
    }

    @Test("The deletion of a user removes the user's rows, and another user's rows stay")
    func userDeleted() async throws {
        try await withPush { fixture in
            for person in [fixture.ann, fixture.bob] {
                try await person.preferences.register(.phone("0\(person.id.user == "ann" ? 1 : 2)"))
                try await person.preferences.change(.init(enabled: false))
                try await person.preferences.subscribe(to: "pianist")
                try await person.preferences.subscribe(to: "removed")
                try await person.preferences.unsubscribe(from: "removed")
                try await person.preferences.join(topic: "news")
            }

            try await fixture.publish(UserDeleted(applicationId: PushFixture.application, userId: "ann"))

            let tables = try await fixture.rows(
                """
                SELECT table_name AS row FROM information_schema.columns
                WHERE table_schema = current_schema() AND column_name = 'user_id' ORDER BY 1
                """
            )
            #expect(tables.contains("devices"))
            #expect(tables.contains("subscriptions"))
            for table in tables where table != "idempotency_keys" {
                let rows = try await fixture.rows("SELECT DISTINCT user_id AS row FROM \(table)")
                #expect(!rows.contains("ann"), "\(table)")
            }
            #expect(try await fixture.bob.preferences.devices().count == 1)
            #expect(try await fixture.bob.preferences.subscriptions().items.count == 1)
        }
    }

    @Test("The deletion of an application removes all its rows, and another application's rows stay")
    func application() async throws {
        try await withPush { fixture in
            let ada = try await fixture.person("ada", application: "acme")
            for person in [ada, fixture.bob] {
                try await person.preferences.register(.phone("0\(person.id.user == "ada" ? 1 : 2)"))
                try await person.preferences.change(.init(enabled: false))
                try await person.preferences.subscribe(to: "pianist")
                try await person.preferences.join(topic: "news")
                let request = NotificationRequest(
                    id: "message:1",
                    applicationId: person.id.application,
                    kind: .message,
                    recipients: [.init(userId: person.id.user)],
                    body: "hello"
                )
                try await PushClient(try fixture.service.peerClient("conversations", callee: "push")).notify([request])
            }

            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM fanouts").isEmpty }
            try await fixture.publish(
                ApplicationDeleted(applicationId: "acme", deletionJob: DeletionJob(id: UUID(), round: 1))
            )

            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM unconfirmed_deletions").isEmpty }
            let tables = try await fixture.rows(
                """
                SELECT table_name AS row FROM information_schema.columns
                WHERE table_schema = current_schema() AND column_name = 'application_id' ORDER BY 1
                """
            )
            #expect(tables.contains("notifications"))
            #expect(tables.contains("devices"))
            for table in tables {
                let rows = try await fixture.rows("SELECT DISTINCT application_id AS row FROM \(table)")
                #expect(!rows.contains("acme"), "\(table)")
            }
            #expect(try await fixture.bob.preferences.devices().count == 1)
            #expect(try await fixture.bob.preferences.subscriptions().items.count == 1)
            #expect(try await fixture.rows("SELECT id AS row FROM notifications") == ["message:1"])
        }
    }

    @Test("A repeated event ID is applied once")
    func duplicateEvent() async throws {
        try await withPush { fixture in
            let id = UUID()
            try await fixture.publish(fixture.ann.registered("aa"), id: id)
            for device in try await fixture.ann.preferences.devices() {
                try await fixture.ann.preferences.remove(device)
            }
            try await fixture.publish(fixture.ann.registered("aa"), id: id)

            #expect(try await fixture.ann.preferences.devices().isEmpty)
        }
    }

    @Test("Stale Google devices, disabled devices and old session ends are pruned")
    func pruning() async throws {
        // The long retention keeps the service's own pruning from removing these devices.
        try await withPush(change: { $0.deviceDays = 36_500 }) { fixture in
            try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: "old", deviceId: "old"))
            try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: "new", deviceId: "new"))
            try await fixture.ann.preferences.register(.phone("aa", deviceID: "Apple's"))
            try await fixture.ann.preferences.register(.phone("bb", deviceID: "refused"))
            try await fixture.publish(fixture.bob.ended)
            let pool = fixture.service.database.pool
            try await pool.run("UPDATE devices SET disabled_reason = 'bad_token' WHERE device_id = 'refused'")
            try await pool.run("UPDATE devices SET seen_at = seen_at - interval '270 days' WHERE device_id <> 'new'")
            func prune(inDays days: Double) async throws {
                let now = Date().addingTimeInterval(days * 86_400)
                try await DevicePruning(database: pool, days: 270, now: { now }).prune()
            }

            try await prune(inDays: -0.1)
            #expect(try await fixture.ann.preferences.devices().count == 4)
            try await prune(inDays: 0.1)
            #expect(try await fixture.ann.preferences.devices().map(\.deviceId) == ["new", "Apple's"])
            #expect(try await fixture.rows("SELECT session_id AS row FROM ended_sessions") == [fixture.bob.session])
            try await prune(inDays: 61)
            #expect(try await fixture.rows("SELECT session_id AS row FROM ended_sessions").isEmpty)
        }
    }
}

extension TestUser {
    fileprivate func registered(
        _ token: String,
        platform: String = "gcm",
        deviceID: String = "phone"
    ) -> DeviceRegistered {
        DeviceRegistered(
            applicationId: id.application,
            userId: id.user,
            sessionId: session,
            deviceId: deviceID,
            platform: platform,
            pushToken: token
        )
    }

    fileprivate var ended: SessionEnded {
        SessionEnded(
            applicationId: id.application,
            userId: id.user,
            sessionId: session,
            deviceId: nil,
            reason: .ended
        )
    }
}
