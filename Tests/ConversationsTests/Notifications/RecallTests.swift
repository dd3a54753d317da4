import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("Recall of notifications") struct RecallTests {
    private static let settings = ["EVENT_SUBSCRIBERS": "notification.recalled=push"]

    @Test("Push receives a recall for a deleted message, an edited message and a deleted conversation")
    func events() async throws {
        try await withConversation(settings: Self.settings) { fixture in
            let (edited, deleted) = (
                try await fixture.bo.send("one", in: fixture.token),
                try await fixture.bo.send("two", in: fixture.token)
            )
            try await fixture.bo.conversations.edit(edited.id, in: fixture.token, to: .init(data: "another"))
            try await fixture.bo.conversations.react("👍", to: deleted.id, in: fixture.token)
            try await fixture.bo.conversations.delete(deleted.id, in: fixture.token)
            // A second deletion publishes no event.
            try await fixture.bo.conversations.delete(deleted.id, in: fixture.token)
            try await fixture.ana.conversations.delete(fixture.token)

            let id = fixture.conversation.id.rawValue
            let recalls = try await fixture.service.database.pool.all(
                "SELECT content FROM event_outbox WHERE subscriber = 'push' ORDER BY outbox_id",
                as: { JSONValue(compact: try $0.string("content")) }
            )
            #expect(
                recalls.map { $0["notificationId"].string } == [
                    "message:\(id):\(edited.seq)", "message:\(id):\(deleted.seq)", "message:\(id)",
                ]
            )
            #expect(recalls.map { $0["isDeleted"].bool } == [false, true, true])
            #expect(recalls.allSatisfy { $0["applicationId"].string == ConversationFixture.application })
        }
    }

    @Test("A message that is deleted during its delivery is recalled after it")
    func deletedDuringDelivery() async throws {
        try await withConversation(settings: Self.settings) { fixture in
            let pool = fixture.service.database.pool
            let said = try await fixture.bo.send("hello", in: fixture.token)
            let store = PushOutboxStore(database: pool, recalledBy: ["push"])
            let claimed = try await store.claim(by: "one", limit: 9, seconds: 60).values
            let delivered = try await NotableMessageStore(database: pool).messages(of: claimed).found
            try await fixture.bo.conversations.delete(said.id, in: fixture.token)
            // Simulates that push received the first recall before the message.
            try await pool.run("DELETE FROM event_outbox")

            try await store.delete(claimed, delivered: delivered)

            let recalled = try await pool.all("SELECT content FROM event_outbox", as: { try $0.string("content") })
            #expect(recalled.count == 1)
            #expect(recalled.first?.contains("message:\(fixture.conversation.id.rawValue):\(said.seq)") == true)
        }
    }

    @Test("A message that was edited before its delivery is not recalled")
    func editedBeforeDelivery() async throws {
        try await withConversation(settings: Self.settings) { fixture in
            let pool = fixture.service.database.pool
            let said = try await fixture.bo.send("hello", in: fixture.token)
            try await fixture.bo.conversations.edit(said.id, in: fixture.token, to: .init(data: "better"))
            try await pool.run("DELETE FROM event_outbox")
            let store = PushOutboxStore(database: pool, recalledBy: ["push"])
            let claimed = try await store.claim(by: "one", limit: 9, seconds: 60).values
            let delivered = try await NotableMessageStore(database: pool).messages(of: claimed).found

            try await store.delete(claimed, delivered: delivered)

            #expect(try await pool.all("SELECT FROM event_outbox", as: { _ in true }).isEmpty)
        }
    }
}
