import AuthAPI
import Foundation
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("User events") struct UserEventTests {
    @Test("Notifications that mention a deleted user lose their text and are cancelled")
    func deletedUser() async throws {
        try await withPush { fixture in
            try await fixture.bob.preferences.register(.phone("02"))
            let client = PushClient(try fixture.service.peerClient("conversations", callee: "push"))
            let group = NotificationRequest(
                id: "like:1",
                applicationId: PushFixture.application,
                kind: .like,
                recipients: [.init(userId: "bob")],
                body: "Eve and Ann liked your photo",
                data: .object(["userId": .string("eve")]),
                mentions: ["eve", "ann"]
            )
            try await client.notify([group])
            for sender in ["ann", "hannah"] {
                let request = NotificationRequest(
                    id: "message:\(sender)",
                    applicationId: PushFixture.application,
                    kind: .message,
                    recipients: [.init(userId: "bob")],
                    title: "From \(sender)",
                    body: "hello",
                    data: .object(["senderId": .string(sender)]),
                    mentions: [sender]
                )
                try await client.notify([request])
            }

            try await fixture.publish(
                UserDeleted(
                    applicationId: PushFixture.application,
                    userId: "ann",
                    deletionJob: DeletionJob(id: UUID(), round: 1)
                )
            )

            try await eventually { try await fixture.rows("SELECT 'x' AS row FROM unconfirmed_deletions").isEmpty }
            let texts = try await fixture.rows(
                """
                SELECT concat_ws('|', id, title, body, data, cancelled_at IS NOT NULL) AS row
                FROM notifications ORDER BY id
                """
            )
            let kept = #"message:hannah|From hannah|hello|{"senderId":"hannah"}|f"#
            #expect(texts == ["like:1|t", "message:ann|t", kept])
        }
    }

    @Test("A recalled notification loses its text, and is not sent if its text was deleted")
    func recall() async throws {
        try await withPush { fixture in
            try await fixture.bob.preferences.register(.phone("02"))
            let client = PushClient(try fixture.service.peerClient("conversations", callee: "push"))
            for id in ["message:7:1", "message:7:1:1-500", "message:7:12", "message:7:2", "message:8:1"] {
                let request = NotificationRequest(
                    id: id,
                    applicationId: PushFixture.application,
                    kind: .message,
                    recipients: [.init(userId: "bob")],
                    title: "Ann",
                    body: "secret",
                    data: .object(["senderId": .string("ann")]),
                    mentions: ["ann"]
                )
                try await client.notify([request])
            }
            func recall(_ id: String, _ isDeleted: Bool, _ application: String = PushFixture.application) async throws {
                let recalled = NotificationRecalled(
                    applicationId: application,
                    notificationId: id,
                    isDeleted: isDeleted
                )
                try await fixture.publish(recalled, from: "conversations")
            }
            func texts() async throws -> [String] {
                try await fixture.rows(
                    """
                    SELECT concat_ws('|', id, title, body, cancelled_at IS NOT NULL) AS row
                    FROM notifications ORDER BY id
                    """
                )
            }

            try await recall("message:7:1", true)
            try await recall("message:7:2", false)
            try await recall("message:8", true, "elsewhere")
            #expect(
                try await texts() == [
                    "message:7:1|t", "message:7:12|Ann|secret|f", "message:7:1:1-500|t", "message:7:2|Ann|f",
                    "message:8:1|Ann|secret|f",
                ]
            )
            let pendingFanOuts = try await fixture.rows(
                "SELECT id AS row FROM fanouts JOIN notifications USING (notification_key) ORDER BY id"
            )
            #expect(!pendingFanOuts.contains { $0.hasPrefix("message:7:1:") || $0 == "message:7:1" })

            try await recall("message:7", true)
            #expect(try await LeftoverData.inTables(containing: ["secret"], fixture.service.database.pool).count == 1)
            try await recall("message:8", true)
            #expect(try await LeftoverData.inTables(containing: ["secret"], fixture.service.database.pool) == [])
        }
    }

    @Test("A sign-in on a new device notifies the user's other devices once")
    func newDeviceSignIn() async throws {
        try await withPush { fixture in
            try await fixture.ann.preferences.register(.phone("01", deviceID: "phone"))
            try await fixture.ann.preferences.register(.phone("02", deviceID: "laptop"))
            let signIn = NewDeviceSignIn(
                applicationId: PushFixture.application,
                userId: "ann",
                sessionId: UUID().uuidString.lowercased(),
                deviceId: "laptop",
                userAgent: "Roost/1.0",
                at: Date()
            )
            try await fixture.publish(signIn)
            try await fixture.publish(signIn)

            try await eventually { try await !fixture.rows("SELECT 'x' AS row FROM queue").isEmpty }
            let queued = try await fixture.rows(
                "SELECT devices.device_id AS row FROM queue JOIN devices USING (device_key)"
            )
            #expect(queued == ["phone"])
            let bodies = try await fixture.rows("SELECT body AS row FROM notifications")
            #expect(bodies.count == 1)
            #expect(bodies.first?.contains("(Roost/1.0)") == true)
        }
    }

    @Test("A sign-in more than a day ago notifies no device")
    func oldSignIn() async throws {
        try await withPush { fixture in
            let signIn = NewDeviceSignIn(
                applicationId: PushFixture.application,
                userId: "ann",
                sessionId: "s",
                deviceId: nil,
                userAgent: nil,
                at: Date(timeIntervalSinceNow: -86_401)
            )
            try await fixture.publish(signIn)
            #expect(try await fixture.rows("SELECT id AS row FROM notifications") == [])
        }
    }
}
