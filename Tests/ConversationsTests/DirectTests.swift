import ConversationsAPI
import ConversationsServer
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

/// Conversations of two.
@Suite struct DirectTests {
    @Test func twoHaveOneConversationWhoeverMakesIt() async throws {
        try await withConversation { scene in
            let made = try await scene.ann.openDirect(with: "bob")
            let again = try await scene.bob.conversations.create(
                .init(label: "x", members: ["bob", "ann"], meta: .object([:]), type: "direct")
            )

            #expect(made.type == .direct && made.label.isEmpty)
            #expect(made.members == ["ann", "bob"] && made.admins == [])
            #expect(made.whiteList == [] && !made.joinByToken && !made.isBlockedByMe)
            #expect(again.token == made.token && again.meta == nil)
            #expect(try await scene.eve.openDirect(with: "ann").id != made.id)
            let twin = try await scene.person("ann", application: RoostApplication.id)
            #expect(try await twin.conversations.list().things.isEmpty)
            #expect(try await scene.ann.conversations.list().things.filter { $0.type == .direct }.count == 2)
        }
    }

    @Test func bothAtOnceAndOftenMakeOne() async throws {
        try await withConversation { scene in
            try await withSecondInstance(of: scene) { bob in
                let ids = try await withThrowingTaskGroup(of: Conversation.ID.self) { tasks in
                    for number in 0..<12 {
                        tasks.addTask {
                            let (person, other) = number % 2 == 0 ? (scene.ann, "bob") : (bob, "ann")
                            return try await person.openDirect(with: other).id
                        }
                    }
                    return try await tasks.reduce(into: Set()) { $0.insert($1) }
                }
                #expect(ids.count == 1)
                let count = try await scene.service.database.pool.one(
                    "SELECT count(*) AS n FROM conversations WHERE type = 'direct'",
                    as: { try $0.int("n") }
                )
                #expect(count == 1)
            }
        }
    }

    @Test func nobodyComesOrGoesOrDecides() async throws {
        try await withConversation { scene in
            let token = try await scene.ann.openDirect(with: "bob").token
            let path = "/conversations/\(token)"
            for (method, path, body) in [
                (.post, "\(path)/kick", #"{"userId": "bob"}"#), (.put, "\(path)/members/eve", nil),
                (.delete, "\(path)/members/bob", nil), (.put, "\(path)/admins/bob", nil),
                (.delete, "\(path)/admins/ann", nil), (.put, "\(path)/whiteList", #"{"whiteList": ["eve"]}"#),
                (.post, "\(path)/token", nil), (.post, "\(path)/leave", nil),
            ] as [(HTTPRequest.Method, String, String?)] {
                for person in [scene.ann, scene.bob] {
                    let answer = try await person.ask(method, path, body)
                    #expect(answer.status == 422 && answer.problem?.code == "group_required", "\(method) \(path)")
                }
                #expect(try await scene.eve.ask(method, path, body).status == 404, "\(method) \(path)")
            }
            #expect(try await scene.eve.ask(.post, "\(path)/join").status == 403)
            #expect(try await scene.bob.ask(.put, "\(path)/label", #"{"label": "Us"}"#).status == 200)
            #expect(try await scene.bob.ask(.put, "\(path)/meta", #"{"meta": {"a": 1}}"#).status == 200)
            #expect(try await scene.ann.conversations.conversation(token).members == ["ann", "bob"])

            let said = try await scene.ann.say("mine", in: token)
            #expect(try await scene.bob.ask(.delete, "\(path)/messages/\(said.id)").status == 403)
        }
    }

    @Test func notificationsAreOnOrOffForEach() async throws {
        try await withConversation { scene in
            let off = try await scene.ann.conversations.setPush(false, in: scene.token)
            let again = try await scene.ann.conversations.setPush(false, in: scene.token)
            let listed = try await scene.ann.conversations.list().things.first
            let bobs = try await scene.bob.conversations.conversation(scene.token)
            let on = try await scene.ann.conversations.setPush(true, in: scene.token)

            #expect(!off.pushEnabled && again == off && listed == off)
            #expect(bobs.pushEnabled && on.pushEnabled)
            #expect(try await scene.ann.conversations.messages(scene.token).isEmpty)
        }
    }
}

extension Person {
    @discardableResult
    func openDirect(with other: String) async throws -> Conversation {
        try await conversations.create(ConversationDraft(members: [other], type: "direct"))
    }
}
