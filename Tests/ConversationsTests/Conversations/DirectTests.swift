import ConversationsAPI
import ConversationsServer
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@Suite("Direct conversations") struct DirectTests {
    @Test("Two users of an application have one direct conversation")
    func onePerPair() async throws {
        try await withConversation { fixture in
            let made = try await fixture.ana.openDirect(with: "bo")
            let again = try await fixture.bo.conversations.create(
                .init(label: "x", members: ["bo", "ana"], meta: .object([:]), type: "direct")
            )

            #expect(made.type == .direct)
            #expect(made.label.isEmpty)
            #expect(made.members == ["ana", "bo"])
            #expect(made.admins == [])
            #expect(made.whiteList == [])
            #expect(!made.joinByToken)
            #expect(!made.isBlockedByMe)
            #expect(again.token == made.token)
            #expect(again.meta == nil)
            #expect(try await fixture.eve.openDirect(with: "ana").id != made.id)
            let twin = try await fixture.person("ana", application: RoostApplication.id)
            #expect(try await twin.conversations.list().items.isEmpty)
            #expect(try await fixture.ana.conversations.list().items.filter { $0.type == .direct }.count == 2)
        }
    }

    @Test("Concurrent creation on two instances makes one direct conversation")
    func concurrentCreation() async throws {
        try await withConversation { fixture in
            try await withSecondInstance(of: fixture) { bo in
                let ids = try await withThrowingTaskGroup(of: Conversation.ID.self) { tasks in
                    for number in 0..<12 {
                        tasks.addTask {
                            let (person, other) = number % 2 == 0 ? (fixture.ana, "bo") : (bo, "ana")
                            return try await person.openDirect(with: other).id
                        }
                    }
                    return try await tasks.reduce(into: Set()) { $0.insert($1) }
                }
                #expect(ids.count == 1)
                let count = try await fixture.service.database.pool.one(
                    "SELECT count(*) AS n FROM conversations WHERE type = 'direct'",
                    as: { try $0.int("n") }
                )
                #expect(count == 1)
            }
        }
    }

    @Test("The members of a direct conversation cannot change")
    func fixedMembers() async throws {
        try await withConversation { fixture in
            let token = try await fixture.ana.openDirect(with: "bo").token
            let path = "/conversations/\(token)"
            for (method, path, body) in [
                (.post, "\(path)/kick", #"{"userId": "bo"}"#), (.put, "\(path)/members/eve", nil),
                (.delete, "\(path)/members/bo", nil), (.put, "\(path)/admins/bo", nil),
                (.delete, "\(path)/admins/ana", nil), (.put, "\(path)/whiteList", #"{"whiteList": ["eve"]}"#),
                (.post, "\(path)/token", nil), (.post, "\(path)/leave", nil),
            ] as [(HTTPRequest.Method, String, String?)] {
                for person in [fixture.ana, fixture.bo] {
                    let answer = try await person.ask(method, path, body)
                    #expect(answer.status == 422, "\(method) \(path)")
                    #expect(answer.problem?.code == "group_required", "\(method) \(path)")
                }
                #expect(try await fixture.eve.ask(method, path, body).status == 404, "\(method) \(path)")
            }
            #expect(try await fixture.eve.ask(.post, "\(path)/join").status == 403)
            #expect(try await fixture.bo.ask(.put, "\(path)/label", #"{"label": "Us"}"#).status == 200)
            #expect(try await fixture.bo.ask(.put, "\(path)/meta", #"{"meta": {"a": 1}}"#).status == 200)
            #expect(try await fixture.ana.conversations.conversation(token).members == ["ana", "bo"])

            let said = try await fixture.ana.send("mine", in: token)
            #expect(try await fixture.bo.ask(.delete, "\(path)/messages/\(said.id)").status == 403)
        }
    }

    @Test("Each member switches notifications on or off for themselves")
    func pushSetting() async throws {
        try await withConversation { fixture in
            let off = try await fixture.ana.conversations.setPush(false, in: fixture.token)
            let again = try await fixture.ana.conversations.setPush(false, in: fixture.token)
            let listed = try await fixture.ana.conversations.list().items.first
            let seenByBo = try await fixture.bo.conversations.conversation(fixture.token)
            let on = try await fixture.ana.conversations.setPush(true, in: fixture.token)

            #expect(!off.pushEnabled)
            #expect(again == off)
            #expect(listed == off)
            #expect(seenByBo.pushEnabled)
            #expect(on.pushEnabled)
            #expect(try await fixture.ana.conversations.messages(fixture.token).isEmpty)
        }
    }
}

extension Person {
    @discardableResult
    func openDirect(with other: String) async throws -> Conversation {
        try await conversations.create(ConversationDraft(members: [other], type: "direct"))
    }
}
