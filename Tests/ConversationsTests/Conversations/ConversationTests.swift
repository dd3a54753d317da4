import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

/// Conversations as their people see them.
@Suite struct ConversationTests {
    @Test func creator() async throws {
        try await withConversation { fixture in
            let answer = try await fixture.ann.ask(.post, "/conversations/create", #"{"label": "Board"}"#)

            #expect(answer.status == 200)
            #expect(answer.json["label"].string == "Board")
            #expect(answer.json["token"].string.map { $0.utf8.count >= 22 } == true)
            #expect(answer.json["members"] == .array([.string("ann")]))
            #expect(answer.json["admins"] == .array([.string("ann")]))
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

    @Test func tokensAreNeverTheSame() async throws {
        try await withConversation { fixture in
            var tokens: Set<String> = []
            for _ in 0..<20 { tokens.insert(try await fixture.ann.conversations.create(.init(label: "x")).token) }
            let secrets = Set(tokens.map { $0.prefix(22) })
            #expect(secrets.count == 20)
        }
    }

    @Test func aWhiteListGivenMeansThatTheTokenAloneDoesNotOpen() async throws {
        try await withConversation { fixture in
            for (draft, byToken, list) in [
                (ConversationDraft(label: "x"), true, ["nobody"][..<0]),
                (ConversationDraft(label: "x", members: ["bob"]), true, []),
                (ConversationDraft(label: "x", whiteList: .anyone), false, nil),
                (ConversationDraft(label: "x", whiteList: .only(["bob"])), false, ["bob"]),
                (ConversationDraft(label: "x", whiteList: .only(["bob"]), joinByToken: true), true, ["bob"]),
                (ConversationDraft(label: "x", joinByToken: false), false, []),
            ] as [(ConversationDraft, Bool, ArraySlice<String>?)] {
                let made = try await fixture.ann.conversations.create(draft)
                #expect(made.joinByToken == byToken)
                #expect(made.whiteList == list.map(Array.init))
            }
        }
    }

    @Test func membersAreInTheOrderTheyCameAndEachOnce() async throws {
        try await withConversation(ConversationDraft(label: "x", members: ["cat", "bob", "ann", "cat"])) { fixture in
            #expect(fixture.conversation.members == ["ann", "cat", "bob"])
            let joined = try await fixture.eve.conversations.join(fixture.token)
            #expect(joined.members == ["ann", "cat", "bob", "eve"])
        }
    }

    @Test func labelAndMetaAreReplacedWhole() async throws {
        try await withConversation { fixture in
            let path = "/conversations/\(fixture.token)"
            let first = try await fixture.bob.ask(.put, "\(path)/meta", #"{"meta": {"colour": "green", "n": 1}}"#)
            let second = try await fixture.ann.ask(.put, "\(path)/meta", #"{"meta": {"size": 2}}"#)
            let label = try await fixture.bob.ask(.put, "\(path)/label", #"{"label": "Runs"}"#)
            let emptied = try await fixture.bob.ask(.put, "\(path)/meta", #"{"meta": null}"#)

            #expect(first.json["meta"] == .object(["colour": .string("green"), "n": .integer(1)]))
            #expect(second.json["meta"] == .object(["size": .integer(2)]))
            #expect(label.json["label"].string == "Runs")
            #expect(emptied.json["meta"] == .null)
            #expect(try await fixture.ann.conversations.conversation(fixture.token).label == "Runs")
        }
    }

    @Test func aRenewedTokenIsTheOnlyOne() async throws {
        try await withConversation { fixture in
            let renewed = try await fixture.ann.conversations.renewToken(fixture.token)

            #expect(renewed.token != fixture.token)
            #expect(renewed.id == fixture.conversation.id)
            #expect(try await fixture.ann.ask(.get, "/conversations/\(fixture.token)").status == 404)
            #expect(
                try await fixture.bob.ask(.post, "/conversations/\(fixture.token)/messages", #"{"data": "x"}"#).status
                    == 404
            )
            #expect(try await fixture.eve.ask(.post, "/conversations/\(fixture.token)/join").status == 404)
            #expect(try await fixture.eve.conversations.join(renewed.token).members?.contains("eve") == true)
        }
    }

    @Test func everyChangeIsToldByASystemMessage() async throws {
        try await withConversation { fixture in
            let path = "/conversations/\(fixture.token)"
            _ = try await fixture.bob.ask(.put, "\(path)/meta", #"{"meta": {"b": 2, "a": [1]}}"#)
            _ = try await fixture.ann.ask(.put, "\(path)/whiteList", #"{"whiteList": ["eve"]}"#)
            _ = try await fixture.ann.ask(.put, "\(path)/whiteList", #"{"whiteList": null}"#)
            try await fixture.eve.conversations.join(fixture.token)
            try await fixture.eve.conversations.leave(fixture.token)
            try await fixture.ann.conversations.kick("bob", from: fixture.token)
            _ = try await fixture.ann.ask(.put, "\(path)/members/bob")

            let told = try await fixture.ann.conversations.messages(fixture.token).reversed()
            #expect(
                told.map(\.data) == [
                    #"{"meta":{"a":[1],"b":2},"type":"meta.updated"}"#,
                    #"{"type":"whiteList.updated","whiteList":["eve"]}"#,
                    #"{"type":"whiteList.updated","whiteList":null}"#,
                    #"{"type":"user.joined","userId":"eve"}"#,
                    #"{"type":"user.left","userId":"eve"}"#,
                    #"{"type":"user.kicked","userId":"bob"}"#,
                    #"{"type":"user.joined","userId":"bob"}"#,
                ]
            )
            #expect(told.map(\.seq) == Array(1...7))
            #expect(told.allSatisfy { $0.senderUser == nil && $0.mime == "application/diuit-chat-sys-message" })
            #expect(told.allSatisfy { $0.encoding == "json" })
            #expect(try await fixture.ann.conversations.conversation(fixture.token).unreadCount == 0)
        }
    }

    @Test func aRequestSentTwiceMakesOneConversation() async throws {
        try await withConversation { fixture in
            func create() async throws -> TestHTTPResponse {
                try await fixture.ann.ask(
                    .post,
                    "/conversations/create",
                    #"{"label": "Once"}"#,
                    headers: [.idempotencyKey: "k"]
                )
            }

            let first = try await create()
            let second = try await create()

            #expect(first.body == second.body)
            #expect(try await fixture.ann.conversations.list().items.map(\.label) == ["Once", "Walks"])
            // A process that is killed leaves both behind or nothing.
            let together = try await fixture.service.database.pool.all(
                "SELECT label FROM conversations WHERE xmin = (SELECT xmin FROM idempotency_keys WHERE key = 'k')",
                as: { try $0.string("label") }
            )
            #expect(together == ["Once"])
        }
    }
}
