import ConversationsAPI
import ConversationsServer
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

/// Two instances of the service over one database.
@Suite struct InstanceTests {
    @Test func allSeeOneOrderWhereverTheyWrite() async throws {
        try await withConversation { scene in
            try await withSecondInstance(of: scene) { bob in
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for writer in 0..<8 {
                        tasks.addTask {
                            let person = writer % 2 == 0 ? scene.ann : bob
                            for number in 0..<10 { try await person.say("\(writer)/\(number)", in: scene.token) }
                        }
                    }
                    try await tasks.waitForAll()
                }

                let here = try await scene.ann.conversations.messages(scene.token, query: [("count", "100")])
                let there = try await bob.conversations.messages(scene.token, query: [("count", "100")])
                #expect(here == there)
                #expect(here.map(\.seq) == Array((1...80).reversed()))
            }
        }
    }

    @Test func whatOneChangesHoldsAtTheOtherAtOnce() async throws {
        try await withConversation { scene in
            try await withSecondInstance(of: scene) { bob in
                let retried = MessageDraft(data: "once", clientMessageId: "1")
                let first = try await scene.bob.conversations.send(retried, to: scene.token)
                #expect(try await bob.conversations.send(retried, to: scene.token) == first)

                let renewed = try await scene.ann.conversations.renewToken(scene.token).token
                #expect(try await bob.ask(.get, "/conversations/\(scene.token)").status == 404)
                let old = try await bob.ask(.post, "/conversations/\(scene.token)/messages", #"{"data": "x"}"#)
                #expect(old.status == 404)
                try await bob.say("still here", in: renewed)

                try await scene.ann.conversations.kick("bob", from: renewed)
                let kicked = try await bob.ask(.post, "/conversations/\(renewed)/messages", #"{"data": "x"}"#)
                #expect(kicked.status == 404)
            }
        }
    }
}
