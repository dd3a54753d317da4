import AuthAPI
import Foundation
import HTTPTypes
import PushAPI
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

@Suite("Notifications of applications") struct NotificationRouteTests {
    @Test("An administrator sends a notification and reads its report")
    func send() async throws {
        try await withPush { fixture in
            let admin = try await fixture.administrator()
            let body = #"{"to": {"userIds": ["ann", "ann", "bob"]}, "title": "Hello"}"#

            let response = try await fixture.service.send(.post, "/push/notifications", token: admin, body: body)
            let report = try response.decode(NotificationReport.self)
            #expect(response.status == 202)
            #expect(!report.id.isEmpty)
            #expect(report.sendAt == nil)
            try await eventually { try await fixture.report(report.id, to: admin).state == .done }

            let done = try await fixture.report(report.id, to: admin)
            #expect(done.people == 2)
            #expect(done.withheld == 2)
            #expect(done.devices == 0)
            let late = try await fixture.service.send(.delete, "/push/notifications/\(report.id)", token: admin)
            #expect(late.status == 409)
            #expect(late.problem?.code == "already_sent")
        }
    }

    @Test("A repeated idempotency key sends one notification")
    func idempotency() async throws {
        try await withPush { fixture in
            let admin = try await fixture.administrator()
            func send() async throws -> NotificationReport {
                let headers: HTTPFields = [.idempotencyKey: "k"]
                let body = #"{"to": {"userIds": ["ann"]}, "title": "Hello"}"#
                return try await fixture.service
                    .send(.post, "/push/notifications", token: admin, body: body, headers: headers)
                    .decode(NotificationReport.self)
            }
            let first = try await send()
            try await fixture.service.database.loseAnswer(to: "k", token: #require(UUID(uuidString: first.id)))

            #expect(try await send().id == first.id)
            #expect(try await fixture.rows("SELECT id AS row FROM notifications") == [first.id])
        }
    }

    @Test("A user without the admin scope cannot send, read or cancel notifications")
    func adminOnly() async throws {
        try await withPush { fixture in
            let body = #"{"to": {"userIds": ["bob"]}, "title": "Hello"}"#
            for (method, path) in [
                (HTTPRequest.Method.post, "/push/notifications"), (.get, "/push/notifications/1"),
                (.delete, "/push/notifications/1"),
            ] {
                let response = try await fixture.ann.ask(method, path, method == .post ? body : nil)
                #expect(response.status == 403, "\(method) \(path)")
            }
        }
    }

    @Test(
        "An invalid field is rejected by name, and nothing is stored",
        arguments: [
            (#"{"title": "x"}"#, "to"),
            (#"{"to": {}, "title": "x"}"#, "to"),
            (#"{"to": {"userIds": ["a"], "topic": "t"}, "title": "x"}"#, "to"),
            (#"{"to": {"userIds": []}, "title": "x"}"#, "to.userIds"),
            (#"{"to": {"userIds": [""]}, "title": "x"}"#, "to.userIds[0]"),
            (#"{"to": {"deviceIds": []}, "title": "x"}"#, "to.deviceIds"),
            (#"{"to": {"topic": ""}, "title": "x"}"#, "to.topic"),
            (#"{"to": {"userIds": ["a"]}}"#, "body"),
            (#"{"to": {"userIds": ["a"]}, "data": {}}"#, "body"),
            (#"{"to": {"userIds": ["a"]}, "data": [1]}"#, "data"),
            (#"{"to": {"userIds": ["a"]}, "data": {"aps": 1}}"#, "data.aps"),
            (#"{"to": {"userIds": ["a"]}, "data": {"google.x": 1}}"#, "data.google.x"),
            (#"{"to": {"userIds": ["a"]}, "title": 7}"#, "title"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "sound": "gong"}"#, "sound"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "badge": -1}"#, "badge"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "badge": "decrement"}"#, "badge"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "image": "http://example.org/1.png"}"#, "image"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "ttl": 0}"#, "ttl"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "ttl": 2419201}"#, "ttl"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "priority": "urgent"}"#, "priority"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "sendAt": "tomorrow"}"#, "sendAt"),
            (#"{"to": {"userIds": ["a"]}, "title": "x", "sendAt": "2999-01-01T00:00:00Z"}"#, "sendAt"),
        ]
    )
    func invalidFields(body: String, field: String) async throws {
        try await withPush { fixture in
            let admin = try await fixture.administrator()

            let response = try await fixture.service.send(.post, "/push/notifications", token: admin, body: body)

            #expect(response.status == 400, "\(response.text)")
            #expect(response.problem?.field == field, "\(response.text)")
            #expect(try await fixture.rows("SELECT id AS row FROM notifications").isEmpty)
        }
    }

    @Test("A field over its limit is rejected by name")
    func fieldsTooLong() async throws {
        try await withPush { fixture in
            let admin = try await fixture.administrator()
            let long = String(repeating: "x", count: 5_000)
            let many = (0...1_000).map { #""\#($0)""# }.joined(separator: ",")
            for (body, field) in [
                (#"{"to": {"userIds": ["a"]}, "title": "\#(long)"}"#, "title"),
                (#"{"to": {"userIds": ["a"]}, "body": "\#(long)"}"#, "body"),
                (#"{"to": {"userIds": ["a"]}, "data": {"x": "\#(long)"}}"#, "data"),
                (#"{"to": {"userIds": ["a"]}, "title": "x", "collapseKey": "\#(long)"}"#, "collapseKey"),
                (#"{"to": {"userIds": [\#(many)]}, "title": "x"}"#, "to.userIds"),
            ] {
                let response = try await fixture.service.send(.post, "/push/notifications", token: admin, body: body)
                #expect(response.status == 400, "\(field): \(response.text)")
                #expect(response.problem?.field == field, "\(field): \(response.text)")
            }
        }
    }

    @Test("A scheduled notification is sent at its time unless it is cancelled")
    func cancelScheduled() async throws {
        let clock = TestClock()
        try await withPush(now: clock.read) { fixture in
            let admin = try await fixture.administrator()
            let sendAt = Timestamp.string(from: clock.read().addingTimeInterval(600))
            let body = #"{"to": {"userIds": ["ann"]}, "title": "Later", "sendAt": "\#(sendAt)"}"#
            let kept = try await fixture.service.send(.post, "/push/notifications", token: admin, body: body)
                .decode(NotificationReport.self)
            let taken = try await fixture.service.send(.post, "/push/notifications", token: admin, body: body)
                .decode(NotificationReport.self)
            #expect(kept.state == .scheduled)
            #expect(kept.sendAt.map(Timestamp.string) == sendAt)

            let response = try await fixture.service.send(.delete, "/push/notifications/\(taken.id)", token: admin)
            #expect(response.json["state"].string == "cancelled", "\(response.text)")
            let again = try await fixture.service.send(.delete, "/push/notifications/\(taken.id)", token: admin)
            #expect(again.status == 200)
            clock.advance(by: 600)
            try await eventually { try await fixture.report(kept.id, to: admin).state == .done }

            #expect(try await fixture.report(taken.id, to: admin).people == 0)
        }
    }

    @Test("A notification of another application is not found")
    func otherApplication() async throws {
        try await withPush { fixture in
            let admin = try await fixture.administrator()
            let peerClient = try fixture.service.peerClient("conversations", callee: "push")
            try await PushClient(peerClient).notify([fixture.message("private", to: ["ann"], application: "roost")])

            for id in ["private", "unknown", "%00"] {
                let shown = try await fixture.service.send(.get, "/push/notifications/\(id)", token: admin)
                #expect(shown.status == 404, "\(id)")
            }
        }
    }

    @Test("The log is listed newest first in pages, and a cursor is valid for its user only")
    func logPaging() async throws {
        try await withPush { fixture in
            let client = PushClient(try fixture.service.peerClient("conversations", callee: "push"))
            for number in 1...5 { try await client.notify([fixture.message("\(number)", to: ["ann"])]) }
            try await client.notify([fixture.message("bob's", to: ["bob"])])
            try await eventually { try await fixture.rows("SELECT user_id AS row FROM log").count == 6 }

            var read: [NotificationRecord] = []
            var path: String? = "/notifications/log?limit=2"
            var cursor: String?
            while let next = path {
                let page = try await fixture.ann.ask(.get, next).decode(Page<NotificationRecord>.self)
                read += page.items
                cursor = page.next ?? cursor
                path = page.next.map { "/notifications/log?limit=2&cursor=\($0)" }
            }

            #expect(read.map(\.notificationId) == ["5", "4", "3", "2", "1"])
            #expect(read.allSatisfy { $0.outcome == .withheld && $0.reason == "no_device" && $0.kind == .message })
            let forged = try await fixture.bob.ask(.get, "/notifications/log?cursor=\(try #require(cursor))")
            #expect(forged.status == 400)
            #expect(forged.problem?.field == "cursor")
        }
    }
}

extension PushFixture {
    /// Returns an access token with the admin scope.
    func administrator() async throws -> String {
        try await keys.token(for: User.ID(application: "roost", user: "admin"), scope: "admin")
    }

    func report(_ id: String, to token: String) async throws -> NotificationReport {
        try await service.send(.get, "/push/notifications/\(id)", token: token).decode(NotificationReport.self)
    }
}
