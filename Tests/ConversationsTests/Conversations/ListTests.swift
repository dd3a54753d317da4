import ConversationsAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@Suite("List of conversations") struct ListTests {
    @Test("Conversations are listed by latest activity")
    func order() async throws {
        try await withConversation { fixture in
            let second = try await fixture.bo.conversations.create(.init(label: "Second", members: ["ana"]))
            _ = try await fixture.bo.conversations.create(.init(label: "Foreign"))
            #expect(try await fixture.ana.conversations.list().items.map(\.label) == ["Second", "Walks"])

            let said = try await fixture.bo.send("hello", in: fixture.token)

            let listed = try await fixture.ana.conversations.list().items
            #expect(listed.map(\.label) == ["Walks", "Second"])
            #expect(listed[0].lastMessage == said)
            #expect(listed[0].unreadCount == 1)
            #expect(listed[0].members == ["ana", "bo"])
            #expect(listed[0].admins == ["ana"])
            #expect(listed[1] == (try await fixture.ana.conversations.conversation(second.token)))
        }
    }

    @Test("Paging during writes lists every conversation exactly once")
    func pagingDuringWrites() async throws {
        try await withConversation { fixture in
            var tokens = [fixture.token]
            for number in 1...34 {
                tokens.append(
                    try await fixture.ana.conversations.create(.init(label: "\(number)", members: ["bo"])).token
                )
            }
            let all = tokens

            for limit in [1, 4, 10, 35, 100] {
                let isOver = SharedValue(false)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<2 {
                        tasks.addTask {
                            while !isOver.value {
                                guard let token = all.randomElement() else { return }
                                try await fixture.bo.send("x", in: token)
                            }
                        }
                    }
                    tasks.addTask {
                        var seen: [String] = []
                        var cursor: String?
                        repeat {
                            let page = try await fixture.ana.conversations.list(limit: limit, cursor: cursor)
                            #expect(page.items.count <= limit)
                            seen += page.items.map(\.token)
                            cursor = page.next
                        } while cursor != nil
                        isOver.change { $0 = true }
                        #expect(seen.count == all.count)
                        #expect(Set(seen) == Set(all))
                    }
                    try await tasks.waitForAll()
                }
            }
        }
    }

    @Test("The pages together equal the whole list")
    func pagesEqualList() async throws {
        try await withConversation { fixture in
            for number in 1...11 { _ = try await fixture.ana.conversations.create(.init(label: "\(number)")) }
            let whole = try await fixture.ana.conversations.list(limit: 100).items

            var paged: [Conversation] = []
            var cursor: String?
            repeat {
                let page = try await fixture.ana.conversations.list(limit: 4, cursor: cursor)
                paged += page.items
                cursor = page.next
            } while cursor != nil

            #expect(paged == whole)
            #expect(whole.map(\.label) == (1...11).reversed().map { "\($0)" } + ["Walks"])
        }
    }

    @Test("A forged cursor, or another user's cursor, is rejected")
    func invalidCursor() async throws {
        try await withConversation { fixture in
            _ = try await fixture.ana.conversations.create(.init(label: "x", members: ["bo"]))
            let cursor = try #require(try await fixture.ana.conversations.list(limit: 1).next)

            #expect(try await fixture.ana.ask(.get, "/conversations?limit=1&cursor=\(cursor)").status == 200)
            for (person, cursor) in [
                (fixture.bo, cursor), (fixture.ana, cursor + "A"), (fixture.ana, "x"), (fixture.ana, ""),
            ] {
                let answer = try await person.ask(.get, "/conversations?limit=1&cursor=\(cursor)")
                #expect(answer.status == 400)
                #expect(answer.problem?.field == "cursor")
            }
        }
    }

    @Test("A user of another application with the same id sees nothing")
    func otherApplication() async throws {
        try await withConversation { fixture in
            let twin = try await fixture.person("ana", application: RoostApplication.id)
            #expect(try await twin.conversations.list().items.isEmpty)
            #expect(try await twin.ask(.get, "/conversations/\(fixture.token)").status == 404)
            #expect(try await twin.ask(.post, "/conversations/\(fixture.token)/join").status == 404)
            #expect(
                try await twin.ask(.post, "/conversations/\(fixture.token)/messages", #"{"data": "x"}"#).status == 404
            )
        }
    }
}
