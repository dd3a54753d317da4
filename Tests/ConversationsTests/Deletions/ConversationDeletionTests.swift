import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("Deletion of conversations") struct ConversationDeletionTests {
    @Test("A deleted conversation is not found, and all its rows are removed")
    func removal() async throws {
        try await withConversation { fixture in
            let message = try await fixture.ana.send("hello", in: fixture.token)
            for number in 0..<23 { try await fixture.bo.send("hello \(number)", in: fixture.token) }
            try await fixture.bo.conversations.react("👍", to: message.id, in: fixture.token)
            try await fixture.eve.conversations.join(fixture.token)
            try await fixture.ana.conversations.kick("eve", from: fixture.token)
            try await fixture.indexAll()
            let other = try await fixture.ana.conversations.create(.init(label: "Other", members: ["bo"]))
            try await fixture.ana.send("hello there", in: other.token)

            try await fixture.ana.conversations.delete(fixture.token)

            let path = "/conversations/\(fixture.token)"
            for (method, path, body) in [
                (.get, path, nil), (.delete, path, nil), (.post, "\(path)/join", nil), (.get, "\(path)/messages", nil),
                (.get, "\(path)/changes?after=0", nil), (.post, "\(path)/messages", #"{"data": "x"}"#),
                (.delete, "\(path)/messages/\(message.id)", nil), (.post, "\(path)/messages/\(message.id)/read", nil),
            ] as [(HTTPRequest.Method, String, String?)] {
                for person in [fixture.ana, fixture.bo, fixture.eve] {
                    let status = try await person.ask(method, path, body).status
                    #expect(status == 404, "\(method) \(path)")
                }
            }
            #expect(try await fixture.bo.conversations.list().items.map(\.id) == [other.id])
            #expect(try await fixture.bo.conversations.search("hello").items.map(\.message.data) == ["hello there"])
            let published = try await fixture.service.database.pool.all(
                "SELECT conversation_id, body FROM outbox WHERE kind = 'conversation.deleted'",
                as: { "\(try $0.int64("conversation_id")) \(try $0.string("body"))" }
            )
            #expect(published == [#"\#(fixture.conversation.id) {"applicationId":"other"}"#])

            // In small batches, by two workers at once.
            let deletions = ConversationDeletions(
                setAside: fixture.service.database.setAside([.conversationDeletion]),
                now: { Date() },
                batch: 5
            )
            async let first: Void = deletions.processPending()
            async let second: Void = deletions.processPending()
            _ = try await (first, second)
            // The service deletes in the background too, and the rows that it has locked are skipped here.
            try await eventually("cleared") {
                try await deletions.processPending()
                return try await fixture.rows(of: fixture.conversation.id) == 0
            }
            #expect(try await fixture.rows(of: other.id) > 0)
        }
    }

    @Test("Messages sent during a deletion leave no rows")
    func sendDuringDeletion() async throws {
        try await withStore { fixture in
            let instances = [fixture.writeShards, fixture.otherShards()]
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for sender in 0..<16 {
                    tasks.addTask {
                        while true {
                            let outcome = try await instances[sender % 2].write(fixture.draft(by: "bo"))
                            if outcome.isNotMember { return }
                        }
                    }
                }
                tasks.addTask {
                    try await eventually { try await fixture.audit().messages >= 100 }
                    _ = try await fixture.conversations.delete(fixture.conversation, by: StoreFixture.user("ana"))
                }
                try await tasks.waitForAll()
            }
            try await ConversationDeletions(
                setAside: fixture.database.setAside([.conversationDeletion]),
                now: { Date() }
            ).processPending()
            let left = try await fixture.pool.one("SELECT count(*) AS n FROM messages", as: { try $0.int("n") })
            #expect(left == 0)
        }
    }

    @Test("Only the creator can delete a conversation, and only while a member")
    func permission() async throws {
        try await withConversation { fixture in
            _ = try await fixture.ana.ask(.put, "/conversations/\(fixture.token)/admins/bo")
            let refusal = try await fixture.bo.ask(.delete, "/conversations/\(fixture.token)")
            #expect(refusal.status == 403)
            #expect(refusal.problem?.code == "creator_required")
            try await fixture.ana.conversations.leave(fixture.token)
            #expect(try await fixture.ana.ask(.delete, "/conversations/\(fixture.token)").status == 404)
        }
    }

    @Test("A direct conversation can be created again after its deletion")
    func recreatedDirect() async throws {
        try await withConversation { fixture in
            let first = try await fixture.ana.openDirect(with: "bo")
            try await fixture.bo.send("hello", in: first.token)
            #expect(try await fixture.bo.ask(.delete, "/conversations/\(first.token)").status == 403)
            try await fixture.ana.conversations.delete(first.token)
            let second = try await fixture.bo.openDirect(with: "ana")
            #expect(second.id != first.id)
            #expect(second.lastMessage == nil)
        }
    }
}

extension ConversationFixture {
    /// Indexes all messages, or waits for the service to do so.
    func indexAll() async throws {
        let pool = service.database.pool
        try await eventually("indexed") {
            let index = SearchIndex.forTests(pool)
            while try await index.advance() {}
            let stale = try await SearchIndexStore(db: pool).stale(after: Conversation.ID(0), limit: 1_000)
            return stale.conversations.isEmpty
        }
    }

    fileprivate func rows(of conversation: Conversation.ID) async throws -> Int {
        var rows = 0
        for table in [
            "conversations", "heads", "members", "kicks", "messages", "reactions", "search_marks", "search_ranges",
            "search_entries", "search_failures", "leaves", "conversation_deletions",
        ] {
            rows += try await service.database.pool.one(
                "SELECT count(*) AS n FROM \(identifier: table) WHERE conversation_id = \(conversation)",
                as: { try $0.int("n") }
            )
        }
        return rows
    }
}
