import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("Recall of notifications") struct RecallTests {
    private static let settings = ["EVENT_SUBSCRIBERS": "notification.recalled=push"]

    @Test("Push learns of a deleted message, an edited message and a deleted conversation")
    func events() async throws {
        try await withConversation(settings: Self.settings) { scene in
            let (edited, deleted) = (
                try await scene.bob.say("one", in: scene.token), try await scene.bob.say("two", in: scene.token)
            )
            try await scene.bob.conversations.edit(edited.id, in: scene.token, to: .init(data: "another"))
            try await scene.bob.conversations.react("👍", to: deleted.id, in: scene.token)
            try await scene.bob.conversations.delete(deleted.id, in: scene.token)
            // What is deleted already changes nothing.
            try await scene.bob.conversations.delete(deleted.id, in: scene.token)
            try await scene.ann.conversations.delete(scene.token)

            let id = scene.conversation.id.rawValue
            let told = try await scene.service.database.pool.all(
                "SELECT content FROM event_outbox WHERE subscriber = 'push' ORDER BY outbox_id",
                as: { JSONValue(compact: try $0.string("content")) }
            )
            #expect(
                told.map { $0["notificationId"].string } == [
                    "message:\(id):\(edited.seq)", "message:\(id):\(deleted.seq)", "message:\(id)",
                ]
            )
            #expect(told.map { $0["isDeleted"].bool } == [false, true, true])
            #expect(told.allSatisfy { $0["applicationId"].string == Scene.application })
        }
    }

    @Test("A message that is deleted while it is handed over is recalled after it")
    func duringHandOver() async throws {
        try await withConversation(settings: Self.settings) { scene in
            let pool = scene.service.database.pool
            let said = try await scene.bob.say("hello", in: scene.token)
            let store = PushOutboxStore(database: pool, recalledBy: ["push"])
            let claimed = try await store.claim(by: "one", limit: 9, seconds: 60).values
            let told = try await NotableMessageStore(database: pool).messages(of: claimed).found
            try await scene.bob.conversations.delete(said.id, in: scene.token)
            // As if push had received the first recall before the message.
            try await pool.run("DELETE FROM event_outbox")

            try await store.delete(claimed, told: told)

            let recalled = try await pool.all("SELECT content FROM event_outbox", as: { try $0.string("content") })
            #expect(recalled.count == 1)
            #expect(recalled.first?.contains("message:\(scene.conversation.id.rawValue):\(said.seq)") == true)
        }
    }

    @Test("A message that was edited before it is handed over is not recalled")
    func editedBefore() async throws {
        try await withConversation(settings: Self.settings) { scene in
            let pool = scene.service.database.pool
            let said = try await scene.bob.say("hello", in: scene.token)
            try await scene.bob.conversations.edit(said.id, in: scene.token, to: .init(data: "better"))
            try await pool.run("DELETE FROM event_outbox")
            let store = PushOutboxStore(database: pool, recalledBy: ["push"])
            let claimed = try await store.claim(by: "one", limit: 9, seconds: 60).values
            let told = try await NotableMessageStore(database: pool).messages(of: claimed).found

            try await store.delete(claimed, told: told)

            #expect(try await pool.all("SELECT FROM event_outbox", as: { _ in true }).isEmpty)
        }
    }
}
