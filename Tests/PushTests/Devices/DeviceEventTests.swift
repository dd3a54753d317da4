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

/// What others tell push of people.
@Suite struct DeviceEventTests {
    @Test func deviceRegistered() async throws {
        try await withPush { fixture in
            let event = fixture.ann.registered("<AB cd>", platform: "ios_production")
            try await fixture.publish(event)
            try await fixture.publish(event, from: "conversations")

            let devices = try await fixture.ann.preferences.devices()
            #expect(devices.map(\.deviceId) == ["phone"] && devices[0].current)
            #expect(try await fixture.rows("SELECT token AS row FROM devices") == ["abcd"])
        }
    }

    @Test func unusableToken() async throws {
        try await withPush { fixture in
            try await fixture.publish(fixture.ann.registered("no token of Apple's", platform: "ios_production"))
            try await fixture.publish(fixture.ann.registered("x", platform: "web"))
            try await fixture.publish(fixture.ann.registered("x", platform: "fax"))
            try await fixture.publish(fixture.ann.registered("x", deviceID: ""))

            #expect(try await fixture.ann.preferences.devices().isEmpty)
        }
    }

    @Test func sessionEnded() async throws {
        try await withPush { fixture in
            let again = try await TestUser(fixture.ann.id, at: fixture.service, fixture.keys)
            try await fixture.ann.preferences.register(.phone("aa", deviceID: "a"))
            try await fixture.publish(fixture.ann.registered("bb", deviceID: "b"))
            let kept = try await again.preferences.register(.phone("cc", deviceID: "c"))

            try await fixture.publish(fixture.ann.ended)

            #expect(try await again.preferences.devices() == [kept])
            // Told late, or asked for by who has not been told yet: nothing is registered in it any more.
            try await fixture.publish(fixture.ann.registered("dd", deviceID: "d"), from: "conversations")
            let answer = try await fixture.ann.ask(.post, "/devices", #"{"platform": "gcm", "token": "ee"}"#)
            #expect(answer.status == 403 && answer.problem?.code == "session_ended")
            #expect(try await again.preferences.devices() == [kept])
            // Another session takes the device over.
            let over = try await again.preferences.register(.phone("aa", deviceID: "a"))
            #expect(over.current)
        }
    }

    @Test func registrationDuringSessionEnd() async throws {
        try await withPush { fixture in
            for round in 0..<10 {
                let person = try await fixture.person("person \(round)")
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<4 {
                        tasks.addTask {
                            let (token, device) = ("\(round).\(number)", "\(number)")
                            let body = #"{"platform": "gcm", "token": "\#(token)", "deviceId": "\#(device)"}"#
                            // Refused where the end came first.
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

    @Test func deviceBadge() async throws {
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

    @Test func userDeleted() async throws {
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
            #expect(tables.contains("devices") && tables.contains("subscriptions"))
            for table in tables where table != "idempotency_keys" {
                let rows = try await fixture.rows("SELECT DISTINCT user_id AS row FROM \(table)")
                #expect(!rows.contains("ann"), "\(table)")
            }
            #expect(try await fixture.bob.preferences.devices().count == 1)
            #expect(try await fixture.bob.preferences.subscriptions().items.count == 1)
        }
    }

    @Test("Of a deleted application nothing is left, and another one keeps what it has")
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
            #expect(tables.contains("notifications") && tables.contains("devices"))
            for table in tables {
                let rows = try await fixture.rows("SELECT DISTINCT application_id AS row FROM \(table)")
                #expect(!rows.contains("acme"), "\(table)")
            }
            #expect(try await fixture.bob.preferences.devices().count == 1)
            #expect(try await fixture.bob.preferences.subscriptions().items.count == 1)
            #expect(try await fixture.rows("SELECT id AS row FROM notifications") == ["message:1"])
        }
    }

    @Test func duplicateEvent() async throws {
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

    @Test func pruning() async throws {
        // The service's own pruning, whenever it comes, forgets none of these.
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
