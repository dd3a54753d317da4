import AuthAPI
import Foundation
import HTTPTypes
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Internal routes of push") struct InternalRouteTests {
    @Test("A notification is accepted once, and a request with too many recipients is rejected")
    func notify() async throws {
        try await withPush { fixture in
            let service = try fixture.service.peerClient("conversations", callee: "push")
            let request = fixture.message("message:1:1", to: ["ann"])

            #expect(
                try await PushClient(service).notify([request, request]) == NotificationsAccepted(taken: 1, known: 1)
            )
            #expect(try await PushClient(service).notify([request]) == NotificationsAccepted(taken: 0, known: 1))

            var crowded = request
            crowded.id = "message:1:2"
            crowded.recipients = (0...1_000).map { .init(userId: "\($0)") }
            await #expect(throws: APIError.self) { try await PushClient(service).notify([crowded]) }
            do {
                try await PushClient(service).notify([request, crowded])
                Issue.record("the request was accepted")
            } catch let error as APIError {
                #expect(error.kind == .invalid)
                #expect(error.field == "notifications[1].recipients")
            }
            #expect(try await fixture.rows("SELECT id AS row FROM notifications") == ["message:1:1"])
        }
    }

    @Test("Only the operator reads and changes the queue")
    func operatorQueue() async throws {
        try await withPush { fixture in
            let other = PushClient(try fixture.service.peerClient("conversations", callee: "push"))
            await #expect(throws: APIError.self) { try await other.queue() }
            let client = PushClient(try fixture.service.peerClient("roost", callee: "push"))

            let report = try await client.queue()

            #expect(report == QueueReport(queues: [], undecided: 0, held: 0, failures: 0))
            #expect(try await client.failures().isEmpty)
            await #expect(throws: APIError.missing("ids")) { try await client.retry(PushFailureSelection()) }
            #expect(try await client.drop(PushFailureSelection(all: true)).count == 0)
        }
    }

    @Test("A repeated broadcast event is logged once")
    func broadcastEvent() async throws {
        try await withPush { fixture in
            let favourite = try await fixture.ann.ask(.put, "/subscriptions/Pianist", "{}")
            #expect(favourite.status == 200)
            let live = BroadcastLive(
                streamId: "s1",
                broadcaster: "pianist",
                title: "Live piano",
                url: "https://example.org/s1",
                startedAt: Date()
            )
            for _ in 1...2 { try await fixture.publish(live, from: "social") }
            try await eventually { try await fixture.rows("SELECT reason AS row FROM log") == ["no_device"] }

            let page = try await fixture.ann.ask(.get, "/notifications/log").decode(Page<NotificationRecord>.self)
            #expect(page.items.map(\.about) == ["pianist"])
        }
    }

    @Test("The deletion of a user removes the user's queued notifications")
    func deletedUser() async throws {
        try await withPush { fixture in
            let registered = try await fixture.ann.ask(
                .post,
                "/devices",
                #"{"platform": "gcm", "token": "token", "deviceId": "phone"}"#
            )
            #expect(registered.status == 200)
            let client = PushClient(try fixture.service.peerClient("conversations", callee: "push"))
            try await client.notify([fixture.message("1", to: ["ann", "bob"])])
            try await eventually { try await fixture.rows("SELECT user_id AS row FROM log") == ["bob"] }
            #expect(try await fixture.rows("SELECT user_id AS row FROM queue") == ["ann"])

            try await fixture.publish(UserDeleted(applicationId: PushFixture.application, userId: "ann"))

            #expect(try await fixture.rows("SELECT user_id AS row FROM queue").isEmpty)
            #expect(try await fixture.rows("SELECT user_id AS row FROM log") == ["bob"])
        }
    }
}

extension PushFixture {
    func message(_ id: String, to users: [String], application: String = PushFixture.application) -> NotificationRequest
    {
        NotificationRequest(
            id: id,
            applicationId: application,
            kind: .message,
            recipients: users.map { .init(userId: $0) },
            title: "Hello"
        )
    }
}
