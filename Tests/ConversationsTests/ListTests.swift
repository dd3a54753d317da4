import ConversationsAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

/// One's own conversations, latest activity first.
@Suite struct ListTests {
    @Test func theLatestActivityComesFirst() async throws {
        try await withConversation { scene in
            let second = try await scene.bob.conversations.create(.init(label: "Second", members: ["ann"]))
            _ = try await scene.bob.conversations.create(.init(label: "Not mine"))
            #expect(try await scene.ann.conversations.list().things.map(\.label) == ["Second", "Walks"])

            let said = try await scene.bob.say("hello", in: scene.token)

            let listed = try await scene.ann.conversations.list().things
            #expect(listed.map(\.label) == ["Walks", "Second"])
            #expect(listed[0].lastMessage == said)
            #expect(listed[0].unreadCount == 1)
            #expect(listed[0].members == ["ann", "bob"])
            #expect(listed[0].admins == ["ann"])
            #expect(listed[1] == (try await scene.ann.conversations.conversation(second.token)))
        }
    }

    @Test func nothingIsSkippedOrRepeatedWhileOthersWrite() async throws {
        try await withConversation { scene in
            var tokens = [scene.token]
            for number in 1...34 {
                tokens.append(
                    try await scene.ann.conversations.create(.init(label: "\(number)", members: ["bob"])).token
                )
            }
            let all = tokens

            for limit in [1, 4, 10, 35, 100] {
                let isOver = Shared(false)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<2 {
                        tasks.addTask {
                            while !isOver.value {
                                guard let token = all.randomElement() else { return }
                                try await scene.bob.say("x", in: token)
                            }
                        }
                    }
                    tasks.addTask {
                        var seen: [String] = []
                        var cursor: String?
                        repeat {
                            let page = try await scene.ann.conversations.list(limit: limit, cursor: cursor)
                            #expect(page.things.count <= limit)
                            seen += page.things.map(\.token)
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

    @Test func whileNobodyWritesThePagesAreTheList() async throws {
        try await withConversation { scene in
            for number in 1...11 { _ = try await scene.ann.conversations.create(.init(label: "\(number)")) }
            let whole = try await scene.ann.conversations.list(limit: 100).things

            var paged: [Conversation] = []
            var cursor: String?
            repeat {
                let page = try await scene.ann.conversations.list(limit: 4, cursor: cursor)
                paged += page.things
                cursor = page.next
            } while cursor != nil

            #expect(paged == whole)
            #expect(whole.map(\.label) == (1...11).reversed().map { "\($0)" } + ["Walks"])
        }
    }

    @Test func aForgedOrAnothersCursorIsRefused() async throws {
        try await withConversation { scene in
            _ = try await scene.ann.conversations.create(.init(label: "x", members: ["bob"]))
            let cursor = try #require(try await scene.ann.conversations.list(limit: 1).next)

            #expect(try await scene.ann.ask(.get, "/conversations?limit=1&cursor=\(cursor)").status == 200)
            for (person, cursor) in [(scene.bob, cursor), (scene.ann, cursor + "A"), (scene.ann, "x"), (scene.ann, "")]
            {
                let answer = try await person.ask(.get, "/conversations?limit=1&cursor=\(cursor)")
                #expect(answer.status == 400)
                #expect(answer.problem?.field == "cursor")
            }
        }
    }

    @Test func anotherApplicationsUserOfTheSameNameSeesNothing() async throws {
        try await withConversation { scene in
            let twin = try await scene.person("ann", application: RoostApplication.id)
            #expect(try await twin.conversations.list().things.isEmpty)
            #expect(try await twin.ask(.get, "/conversations/\(scene.token)").status == 404)
            #expect(try await twin.ask(.post, "/conversations/\(scene.token)/join").status == 404)
            #expect(
                try await twin.ask(.post, "/conversations/\(scene.token)/messages", #"{"data": "x"}"#).status == 404
            )
        }
    }
}
