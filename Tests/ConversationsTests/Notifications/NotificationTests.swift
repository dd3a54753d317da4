import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import PushAPI
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// The content and recipients of notifications.
@Suite("Notifications") struct NotificationTests {
    private let push = FakePush()

    @Test("A text message notifies the other members with sender and text")
    func textNotification() async throws {
        try await withConversation(push: push) { fixture in
            let message = try await fixture.ana.send("hello", in: fixture.token)

            try await push.waitForNotifications(1)
            let notification = try #require(push.taken.first)
            #expect(notification.id == "message:\(fixture.conversation.id):\(message.seq)")
            #expect(notification.applicationId == ConversationFixture.application)
            #expect(notification.kind == .message)
            #expect(notification.recipients == [.init(userId: "bo")])
            #expect(notification.title == "Walks")
            #expect(notification.body == "ana: hello")
            #expect(notification.badge == .increment)
            #expect(notification.about == fixture.token)
            #expect(notification.collapseKey == nil)
            #expect(notification.data?["conversation"].string == fixture.token)
            #expect(notification.data?["type"].string == "message")
            #expect(notification.data?["seq"] == .integer(message.seq))
            #expect(notification.data?["senderId"].string == "ana")
            #expect(notification.data?["chatId"] == .integer(fixture.conversation.id.rawValue))
            #expect(notification.data?["messageId"] == .integer(message.id.rawValue))
        }
    }

    @Test("A sender can set the notification's text, title, payload and badge")
    func senderContent() async throws {
        try await withConversation(push: push) { fixture in
            let draft = MessageDraft(
                data: "hello",
                pushMessage: "look here",
                pushTitle: "From the hills",
                pushPayload: .object(["extra": .string("some value"), "seq": .string("not yours to say")]),
                badge: .number(5)
            )
            let message = try await fixture.ana.conversations.send(draft, to: fixture.token)

            try await push.waitForNotifications(1)
            let notification = try #require(push.taken.first)
            #expect(notification.androidTitle == "From the hills")
            // Only Android shows the sender's title.
            #expect(notification.title == "Walks")
            #expect(notification.body == "look here")
            #expect(notification.badge == .number(5))
            #expect(notification.data?["extra"].string == "some value")
            #expect(notification.data?["seq"] == .integer(message.seq))
        }
    }

    @Test("A message that is not text notifies only if it has a push text")
    func nonTextMessages() async throws {
        try await withConversation(push: push) { fixture in
            for draft in [
                MessageDraft(data: "{}", mime: "application/json", encoding: "json"),
                MessageDraft(data: "{}", mime: "application/json", encoding: "json", badge: .number(1)),
                MessageDraft(data: "text, but no plain one", mime: "text/plain", encoding: "json"),
                MessageDraft(data: "{}", mime: "application/json", encoding: "json", pushMessage: "a drawing"),
                MessageDraft(data: "<b>text</b>", mime: "text/html"),
            ] {
                _ = try await fixture.ana.conversations.send(draft, to: fixture.token)
            }
            // A system message notifies no member.
            try await fixture.eve.conversations.join(fixture.token)
            try await fixture.ana.send("the last", in: fixture.token)

            try await push.waitForNotifications(3)
            #expect(push.bodies == ["a drawing", "ana: <b>text</b>", "ana: the last"])
        }
    }

    @Test("A notification excludes members who muted the conversation, and users across a block")
    func mutedAndBlocked() async throws {
        let members = ["bo", "cat", "dan", "fay"]
        try await withConversation(push: push, ConversationDraft(label: "Walks", members: members)) { fixture in
            try await fixture.bo.conversations.setPush(false, in: fixture.token)
            try await fixture.person("cat").conversations.block("ana")
            try await fixture.ana.conversations.block("dan")

            try await fixture.ana.send("hello", in: fixture.token)
            try await push.waitForNotifications(1)
            try await fixture.person("cat").send("and hello", in: fixture.token)
            try await push.waitForNotifications(2)

            #expect(push.taken[0].recipients.map(\.userId) == ["fay"])
            #expect(push.taken[1].recipients.map(\.userId) == ["dan", "fay"])

            try await fixture.bo.conversations.setPush(true, in: fixture.token)
            try await fixture.ana.conversations.unblock("dan")
            try await fixture.ana.send("again", in: fixture.token)
            try await push.waitForNotifications(3)
            #expect(push.taken[2].recipients.map(\.userId) == ["bo", "dan", "fay"])
        }
    }

    @Test("Members who muted the conversation are passed to push for the log, once a minute")
    func muted() async throws {
        let draft = ConversationDraft(label: "Walks", members: ["bo", "cat"])
        try await withConversation(push: push, draft) { fixture in
            try await fixture.bo.conversations.setPush(false, in: fixture.token)
            try await fixture.ana.send("one", in: fixture.token)
            try await push.waitForNotifications(1)
            try await fixture.ana.send("two", in: fixture.token)
            try await push.waitForNotifications(2)

            #expect(push.taken[0].recipients.map(\.userId) == ["cat"])
            #expect(push.taken[0].withheld == [.init(reason: "conversation_muted", userIds: ["bo"])])
            #expect(push.taken[1].recipients.map(\.userId) == ["cat"])
            #expect(push.taken[1].withheld == nil)
        }
    }

    @Test("A message whose recipients all muted the conversation is passed to push for the log")
    func allMuted() async throws {
        try await withConversation(push: push) { fixture in
            try await fixture.bo.conversations.setPush(false, in: fixture.token)
            try await fixture.ana.send("one", in: fixture.token)
            try await push.waitForNotifications(1)

            #expect(push.taken[0].recipients.isEmpty)
            #expect(push.taken[0].withheld == [.init(reason: "conversation_muted", userIds: ["bo"])])
        }
    }

    @Test("A notification excludes connected devices")
    func connectedDevice() async throws {
        try await withConversation(push: push) { fixture in
            let store = ConnectedDeviceStore(db: fixture.service.database.pool)
            _ = try await store.renew("here", seconds: 60)
            let devices = ["phone", "tablet"].map { ConnectedDevice(user: fixture.bo.id, device: $0) }
            _ = try await store.insert(devices, at: "here")
            // A device of an instance that no longer exists.
            let gone = ConnectedDevice(user: fixture.bo.id, device: "watch")
            _ = try await store.insert([gone], at: "gone")
            // A device of the user with Bo's id in another application.
            let other = User.ID(application: "another", user: "bo")
            _ = try await store.insert([ConnectedDevice(user: other, device: "other")], at: "here")

            try await fixture.ana.send("hello", in: fixture.token)
            try await push.waitForNotifications(1)
            #expect(push.taken[0].recipients.map { Set($0.exceptDeviceIds ?? []) } == [["phone", "tablet"]])

            try await store.delete(devices, at: "here")
            try await fixture.ana.send("hello?", in: fixture.token)
            try await push.waitForNotifications(2)
            #expect(push.taken[1].recipients == [.init(userId: "bo")])
        }
    }

    @Test("The title in a direct conversation is the sender's name")
    func directTitle() async throws {
        try await withConversation(push: push) { fixture in
            let direct = try await fixture.ana.conversations.create(
                ConversationDraft(members: ["bo"], type: "direct")
            )
            try await fixture.ana.send("psst", in: direct.token)
            try await push.waitForNotifications(1)
            let meta = String(decoding: try JSONValue.object(["name": .string("Ana B.")]).compact(), as: UTF8.self)
            try await DeviceStore(db: fixture.service.database.pool).set(meta: meta, of: fixture.ana.id)
            try await fixture.ana.send("it is me", in: direct.token)
            try await push.waitForNotifications(2)

            #expect(push.taken.map(\.title) == ["ana", "Ana B."])
            #expect(push.bodies == ["psst", "it is me"])
        }
    }

    @Test("The sender's name comes from auth, and a failure of auth delays nothing")
    func senderNames() async throws {
        try await withConversation(push: push) { fixture in
            let (ana, bo) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
            fixture.auth.accounts.change { $0 = [ana, bo] }
            fixture.auth.names.change { $0 = [ana: "Ada Lovelace"] }
            let person = try await fixture.person(ana, application: RoostApplication.id)
            let made = try await person.conversations.create(ConversationDraft(label: "Engines", members: [bo]))

            try await person.send("hello", in: made.token)
            try await push.waitForNotifications(1)
            #expect(push.bodies == ["Ada Lovelace: hello"])

            // While auth is unavailable, an unknown name does not delay the notification.
            let other = try await fixture.person(bo, application: RoostApplication.id)
            fixture.auth.isAway.change { $0 = true }
            try await other.send("yes?", in: made.token)
            try await push.waitForNotifications(2)
            #expect(push.bodies.last == "yes?")
            #expect(push.taken.last?.title == "Engines")
        }
    }

    @Test("A payload with a reserved key is rejected")
    func reservedPayloadKey() async throws {
        try await withConversation(push: push) { fixture in
            let answer = try await fixture.ana.ask(
                .post,
                "/conversations/\(fixture.token)/messages",
                #"{"data": "x", "pushPayload": {"aps": {"alert": "y"}}}"#
            )
            #expect(answer.status == 400)
            #expect(answer.problem?.field == "pushPayload")
        }
    }
}
