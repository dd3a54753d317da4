import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// A conversation that its creator deletes is gone, with everything of it.
@Suite struct DeletionTests {
    @Test func nothingOfItIsLeft() async throws {
        try await withConversation { scene in
            let message = try await scene.ann.say("hello", in: scene.token)
            for number in 0..<23 { try await scene.bob.say("hello \(number)", in: scene.token) }
            try await scene.bob.conversations.react("👍", to: message.id, in: scene.token)
            try await scene.eve.conversations.join(scene.token)
            try await scene.ann.conversations.kick("eve", from: scene.token)
            try await scene.indexAll()
            let other = try await scene.ann.conversations.create(.init(label: "Other", members: ["bob"]))
            try await scene.ann.say("hello there", in: other.token)

            try await scene.ann.conversations.delete(scene.token)

            let path = "/conversations/\(scene.token)"
            for (method, path, body) in [
                (.get, path, nil), (.delete, path, nil), (.post, "\(path)/join", nil), (.get, "\(path)/messages", nil),
                (.get, "\(path)/changes?after=0", nil), (.post, "\(path)/messages", #"{"data": "x"}"#),
                (.delete, "\(path)/messages/\(message.id)", nil), (.post, "\(path)/messages/\(message.id)/read", nil),
            ] as [(HTTPRequest.Method, String, String?)] {
                for person in [scene.ann, scene.bob, scene.eve] {
                    let status = try await person.ask(method, path, body).status
                    #expect(status == 404, "\(method) \(path)")
                }
            }
            #expect(try await scene.bob.conversations.list().things.map(\.id) == [other.id])
            #expect(try await scene.bob.conversations.search("hello").things.map(\.message.data) == ["hello there"])
            let told = try await scene.service.database.pool.all(
                "SELECT conversation_id, body FROM outbox WHERE kind = 'conversation.deleted'",
                as: { "\(try $0.int64("conversation_id")) \(try $0.string("body"))" }
            )
            #expect(told == [#"\#(scene.conversation.id) {"applicationId":"other"}"#])

            // A little at a time, and by two at once.
            let deletions = Deletions(
                setAside: scene.service.database.setAside([.deletion]),
                now: { Date() },
                batch: 5
            )
            async let first: Void = deletions.clear()
            async let second: Void = deletions.clear()
            _ = try await (first, second)
            // The service clears by itself too, and what it is at just then is passed over here.
            try await eventually("cleared") {
                try await deletions.clear()
                return try await scene.rows(of: scene.conversation.id) == 0
            }
            #expect(try await scene.rows(of: other.id) > 0)
        }
    }

    @Test func whoIsSendingJustThenIsToldItIsGone() async throws {
        try await withStore { scene in
            let instances = [scene.lanes, scene.otherLanes()]
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for sender in 0..<16 {
                    tasks.addTask {
                        while true {
                            let outcome = try await instances[sender % 2].write(scene.draft(by: "bob"))
                            if outcome.isNobody { return }
                        }
                    }
                }
                tasks.addTask {
                    try await eventually { try await scene.audit().messages >= 100 }
                    _ = try await scene.conversations.delete(scene.conversation, by: StoreScene.user("ann"))
                }
                try await tasks.waitForAll()
            }
            try await Deletions(setAside: scene.database.setAside([.deletion]), now: { Date() }).clear()
            let left = try await scene.pool.one("SELECT count(*) AS n FROM messages", as: { try $0.int("n") })
            #expect(left == 0)
        }
    }

    @Test func onlyItsCreatorDeletesItAndOnlyWhileAMember() async throws {
        try await withConversation { scene in
            _ = try await scene.ann.ask(.put, "/conversations/\(scene.token)/admins/bob")
            let refusal = try await scene.bob.ask(.delete, "/conversations/\(scene.token)")
            #expect(refusal.status == 403 && refusal.problem?.code == "creator_required")
            try await scene.ann.conversations.leave(scene.token)
            #expect(try await scene.ann.ask(.delete, "/conversations/\(scene.token)").status == 404)
        }
    }

    @Test func twoCanBeginAnewWithEachOther() async throws {
        try await withConversation { scene in
            let first = try await scene.ann.openDirect(with: "bob")
            try await scene.bob.say("hello", in: first.token)
            #expect(try await scene.bob.ask(.delete, "/conversations/\(first.token)").status == 403)
            try await scene.ann.conversations.delete(first.token)
            let second = try await scene.bob.openDirect(with: "ann")
            #expect(second.id != first.id && second.lastMessage == nil)
        }
    }
}

extension Scene {
    /// Brings all that was written into the index, or waits where the service itself is at it.
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
            "conversations", "heads", "members", "kicks", "messages", "reactions", "search_marks", "search_stretches",
            "search_entries", "search_failures", "leaves", "deletions",
        ] {
            rows += try await service.database.pool.one(
                "SELECT count(*) AS n FROM \(identifier: table) WHERE conversation_id = \(conversation)",
                as: { try $0.int("n") }
            )
        }
        return rows
    }
}
