import Foundation
import Postgres
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Data export of push") struct ExportTests {
    @Test("The export has the user's data, without tokens and other users' data")
    func contents() async throws {
        try await withPush { fixture in
            for person in [fixture.ann, fixture.bob] {
                let own = person.id.user
                let token = own == "ann" ? "01c0ffee" : "02c0ffee"
                try await person.preferences.register(.phone(token, deviceID: "phone of \(own)"))
                try await person.preferences.change(.init(enabled: false))
                try await person.preferences.subscribe(to: "pianist\(own)")
                try await person.preferences.join(topic: "news\(own)")
            }
            let client = PushClient(try fixture.service.peerClient("conversations", callee: "push"))
            let request = NotificationRequest(
                id: "message:1",
                applicationId: PushFixture.application,
                kind: .message,
                recipients: [.init(userId: "ann"), .init(userId: "bob")],
                title: "Eve",
                body: "hello"
            )
            try await client.notify([request])
            try await eventually { try await fixture.rows("SELECT user_id AS row FROM log").count == 2 }

            let auth = try fixture.service.peerClient("auth", callee: "push")
            let files = try await ExportedFiles(of: fixture.ann.id, from: auth)

            #expect(
                files.names == ["devices.json", "settings.json", "subscriptions.json", "topics.json", "log.json"]
            )
            #expect(files.json("devices.json")[0]["deviceId"].string == "phone of ann")
            #expect(files.json("settings.json")[0]["enabled"].bool == false)
            #expect(files.json("subscriptions.json")[0]["broadcaster"].string == "pianistann")
            #expect(files.json("topics.json")[0]["topic"].string == "newsann")
            let entry = files.json("log.json")[0]
            #expect(entry["title"].string == "Eve")
            #expect(entry["outcome"].string == "withheld")
            #expect(entry["at"].string.flatMap { Timestamp.date(from: $0) } != nil)
            #expect(!files.text.contains("c0ffee"))
            #expect(!files.text.contains("bob"))
        }
    }

    @Test("The export has every entry of a long log")
    func longLog() async throws {
        try await withPush { fixture in
            try await fixture.service.database.pool.run(
                """
                INSERT INTO log (application_id, user_id, notification_key, outcome, logged_at)
                SELECT 'other', CASE WHEN number % 2 = 0 THEN 'ann' ELSE 'bob' END, number, 'sent', now()
                FROM generate_series(1, 2600) AS numbers (number)
                """
            )
            let auth = try fixture.service.peerClient("auth", callee: "push")
            let files = try await ExportedFiles(of: fixture.ann.id, from: auth)
            #expect(files.json("log.json").array.count == 1_300)
        }
    }

    @Test("The export of an unknown user has empty files")
    func unknownUser() async throws {
        try await withPush { fixture in
            let auth = try fixture.service.peerClient("auth", callee: "push")
            let files = try await ExportedFiles(of: User.ID(application: "other", user: "nobody"), from: auth)
            #expect(files.names.allSatisfy { files.json($0) == .array([]) })
        }
    }
}
