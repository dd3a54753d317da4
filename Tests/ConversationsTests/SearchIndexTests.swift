import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// What was said comes into the index, whoever is at it beside, and whatever cannot.
@Suite struct SearchIndexTests {
    @Test func twoThatIndexAtOnceIndexEverythingOnce() async throws {
        try await withConversation { scene in
            let tokens = try await scene.manyConversations(20)
            for number in 0..<100 { try await scene.bob.say("needle \(number)", in: tokens[number % 20]) }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<3 { tasks.addTask { try await scene.indexAll() } }
                try await tasks.waitForAll()
            }
            try await scene.indexAll()
            let pool = scene.service.database.pool
            let counts = try await pool.one(
                """
                SELECT (SELECT count(*) FROM search_entries) AS entries, (
                    SELECT count(*) FROM heads JOIN search_marks USING (conversation_id)
                    WHERE last_change > indexed_change
                ) AS left_over
                """,
                as: { [try $0.int("entries"), try $0.int("left_over")] }
            )
            #expect(counts == [100, 0])
        }
    }

    @Test func oneThatCannotBeIndexedKeepsNoOtherWaiting() async throws {
        try await withConversation { scene in
            let pool = scene.service.database.pool
            let tokens = try await scene.manyConversations(20)
            try await pool.run(
                """
                ALTER TABLE search_entries ADD CONSTRAINT test
                CHECK (conversation_id <> \(unsafe: "\(scene.conversation.id.rawValue)"))
                """
            )
            // It is the first that the service's own index, too, takes up.
            for token in [scene.token] + tokens { try await scene.bob.say("needle", in: token) }
            let clock = Shared(Date())
            let index = SearchIndex(database: pool, rest: 60, now: { clock.value })
            func stale() async throws -> [Conversation.ID] {
                try await SearchIndexStore(db: pool).stale(after: Conversation.ID(0), limit: 100).conversations
            }
            try await eventually {
                _ = try? await index.advance()
                return try await stale() == [scene.conversation.id]
            }

            try await pool.run("ALTER TABLE search_entries DROP CONSTRAINT test")
            try await eventually {
                clock.change { $0 += 61 }
                _ = try await index.advance()
                return try await stale().isEmpty
            }
        }
    }
}

extension Scene {
    /// Of Ann's, with Bob in each.
    func manyConversations(_ count: Int) async throws -> [String] {
        var tokens: [String] = []
        for number in 0..<count {
            tokens.append(try await ann.conversations.create(.init(label: "\(number)", members: ["bob"])).token)
        }
        return tokens
    }
}
