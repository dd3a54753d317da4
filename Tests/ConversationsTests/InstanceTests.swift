import ConversationsAPI
import ConversationsServer
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

/// Two instances of the service over one database.
@Suite("Two instances") struct InstanceTests {
    @Test("Members of both instances read the same order of messages")
    func totalOrder() async throws {
        try await withConversation { fixture in
            try await withSecondInstance(of: fixture) { bo in
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for writer in 0..<8 {
                        tasks.addTask {
                            let person = writer % 2 == 0 ? fixture.ana : bo
                            for number in 0..<10 { try await person.send("\(writer)/\(number)", in: fixture.token) }
                        }
                    }
                    try await tasks.waitForAll()
                }

                let here = try await fixture.ana.conversations.messages(fixture.token, query: [("count", "100")])
                let there = try await bo.conversations.messages(fixture.token, query: [("count", "100")])
                #expect(here == there)
                #expect(here.map(\.seq) == Array((1...80).reversed()))
            }
        }
    }

    @Test("Retries, renewed tokens and kicks apply on both instances")
    func sharedState() async throws {
        try await withConversation { fixture in
            try await withSecondInstance(of: fixture) { bo in
                let retried = MessageDraft(data: "once", clientMessageId: "1")
                let first = try await fixture.bo.conversations.send(retried, to: fixture.token)
                #expect(try await bo.conversations.send(retried, to: fixture.token) == first)

                let renewed = try await fixture.ana.conversations.renewToken(fixture.token).token
                #expect(try await bo.ask(.get, "/conversations/\(fixture.token)").status == 404)
                let old = try await bo.ask(.post, "/conversations/\(fixture.token)/messages", #"{"data": "x"}"#)
                #expect(old.status == 404)
                try await bo.send("still here", in: renewed)

                try await fixture.ana.conversations.kick("bo", from: renewed)
                let kicked = try await bo.ask(.post, "/conversations/\(renewed)/messages", #"{"data": "x"}"#)
                #expect(kicked.status == 404)
            }
        }
    }
}
