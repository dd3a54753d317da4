import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@Suite("Conversations") struct ConversationTests {
    @Test("The creator of a conversation is its first member and admin")
    func creator() async throws {
        try await withConversation { fixture in
            let answer = try await fixture.ana.ask(.post, "/conversations/create", #"{"label": "Board"}"#)

            #expect(answer.status == 200)
            #expect(answer.json["label"].string == "Board")
            #expect(answer.json["token"].string.map { $0.utf8.count >= 22 } == true)
            #expect(answer.json["members"] == .array([.string("ana")]))
            #expect(answer.json["admins"] == .array([.string("ana")]))
            #expect(answer.json["whiteList"] == .array([]))
            #expect(answer.json["joinByToken"].bool == true)
            #expect(answer.json["type"].string == "group")
            #expect(answer.json["lastMessage"] == .null)
            #expect(answer.json["unreadCount"].int == 0)
            #expect(answer.json["pushEnabled"].bool == true)
            #expect(answer.json["isBlockedByMe"].bool == false)
            #expect(answer.json["meta"] == .null)
        }
    }

    @Test("Every conversation has a different token")
    func uniqueTokens() async throws {
        try await withConversation { fixture in
            var tokens: Set<String> = []
            for _ in 0..<20 { tokens.insert(try await fixture.ana.conversations.create(.init(label: "x")).token) }
            let secrets = Set(tokens.map { $0.prefix(22) })
            #expect(secrets.count == 20)
        }
    }

    @Test("A conversation with a white list cannot be joined with the token alone, unless requested")
    func joinByToken() async throws {
        try await withConversation { fixture in
            for (draft, byToken, list) in [
                (ConversationDraft(label: "x"), true, ["no user"][..<0]),
                (ConversationDraft(label: "x", members: ["bo"]), true, []),
                (ConversationDraft(label: "x", whiteList: .anyone), false, nil),
                (ConversationDraft(label: "x", whiteList: .only(["bo"])), false, ["bo"]),
                (ConversationDraft(label: "x", whiteList: .only(["bo"]), joinByToken: true), true, ["bo"]),
                (ConversationDraft(label: "x", joinByToken: false), false, []),
            ] as [(ConversationDraft, Bool, ArraySlice<String>?)] {
                let made = try await fixture.ana.conversations.create(draft)
                #expect(made.joinByToken == byToken)
                #expect(made.whiteList == list.map(Array.init))
            }
        }
    }

    @Test("Members are listed once, in the order in which they joined")
    func memberOrder() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["cat", "bo", "ana", "cat"])) { fixture in
            #expect(fixture.conversation.members == ["ana", "cat", "bo"])
            let joined = try await fixture.eve.conversations.join(fixture.token)
            #expect(joined.members == ["ana", "cat", "bo", "eve"])
        }
    }

    @Test("Members can replace the label and the metadata as a whole")
    func labelAndMeta() async throws {
        try await withConversation { fixture in
            let path = "/conversations/\(fixture.token)"
            let first = try await fixture.bo.ask(.put, "\(path)/meta", #"{"meta": {"colour": "green", "n": 1}}"#)
            let second = try await fixture.ana.ask(.put, "\(path)/meta", #"{"meta": {"size": 2}}"#)
            let label = try await fixture.bo.ask(.put, "\(path)/label", #"{"label": "Runs"}"#)
            let emptied = try await fixture.bo.ask(.put, "\(path)/meta", #"{"meta": null}"#)

            #expect(first.json["meta"] == .object(["colour": .string("green"), "n": .integer(1)]))
            #expect(second.json["meta"] == .object(["size": .integer(2)]))
            #expect(label.json["label"].string == "Runs")
            #expect(emptied.json["meta"] == .null)
            #expect(try await fixture.ana.conversations.conversation(fixture.token).label == "Runs")
        }
    }

    @Test("A renewed token replaces the old one")
    func renewedToken() async throws {
        try await withConversation { fixture in
            let renewed = try await fixture.ana.conversations.renewToken(fixture.token)

            #expect(renewed.token != fixture.token)
            #expect(renewed.id == fixture.conversation.id)
            #expect(try await fixture.ana.ask(.get, "/conversations/\(fixture.token)").status == 404)
            #expect(
                try await fixture.bo.ask(.post, "/conversations/\(fixture.token)/messages", #"{"data": "x"}"#).status
                    == 404
            )
            #expect(try await fixture.eve.ask(.post, "/conversations/\(fixture.token)/join").status == 404)
            #expect(try await fixture.eve.conversations.join(renewed.token).members?.contains("eve") == true)
        }
    }

    @Test("Every change of a conversation is recorded as a system message")
    func systemMessages() async throws {
        try await withConversation { fixture in
            let path = "/conversations/\(fixture.token)"
            _ = try await fixture.bo.ask(.put, "\(path)/meta", #"{"meta": {"b": 2, "a": [1]}}"#)
            _ = try await fixture.ana.ask(.put, "\(path)/whiteList", #"{"whiteList": ["eve"]}"#)
            _ = try await fixture.ana.ask(.put, "\(path)/whiteList", #"{"whiteList": null}"#)
            try await fixture.eve.conversations.join(fixture.token)
            try await fixture.eve.conversations.leave(fixture.token)
            try await fixture.ana.conversations.kick("bo", from: fixture.token)
            _ = try await fixture.ana.ask(.put, "\(path)/members/bo")

            let systemMessages = try await fixture.ana.conversations.messages(fixture.token).reversed()
            #expect(
                systemMessages.map(\.data) == [
                    #"{"meta":{"a":[1],"b":2},"type":"meta.updated"}"#,
                    #"{"type":"whiteList.updated","whiteList":["eve"]}"#,
                    #"{"type":"whiteList.updated","whiteList":null}"#,
                    #"{"type":"user.joined","userId":"eve"}"#,
                    #"{"type":"user.left","userId":"eve"}"#,
                    #"{"type":"user.kicked","userId":"bo"}"#,
                    #"{"type":"user.joined","userId":"bo"}"#,
                ]
            )
            #expect(systemMessages.map(\.seq) == Array(1...7))
            #expect(
                systemMessages.allSatisfy { $0.senderUser == nil && $0.mime == "application/diuit-chat-sys-message" }
            )
            #expect(systemMessages.allSatisfy { $0.encoding == "json" })
            #expect(try await fixture.ana.conversations.conversation(fixture.token).unreadCount == 0)
        }
    }

    @Test("A repeated request with an idempotency key creates one conversation")
    func idempotencyKey() async throws {
        try await withConversation { fixture in
            func create() async throws -> TestHTTPResponse {
                try await fixture.ana.ask(
                    .post,
                    "/conversations/create",
                    #"{"label": "Once"}"#,
                    headers: [.idempotencyKey: "k"]
                )
            }

            let first = try await create()
            let second = try await create()

            #expect(first.body == second.body)
            #expect(try await fixture.ana.conversations.list().items.map(\.label) == ["Once", "Walks"])
            // One transaction writes both rows, so a killed process leaves both or none.
            let together = try await fixture.service.database.pool.all(
                "SELECT label FROM conversations WHERE xmin = (SELECT xmin FROM idempotency_keys WHERE key = 'k')",
                as: { try $0.string("label") }
            )
            #expect(together == ["Once"])
        }
    }
}
