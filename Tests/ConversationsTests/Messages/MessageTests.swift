import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@Suite("Messages") struct MessageTests {
    @Test("The response to a sent message equals the message in the history")
    func sentMessage() async throws {
        try await withConversation { fixture in
            let draft = #"{"data": "Hi", "meta": {"b": 1, "a": [true, null]}, "clientMessageId": "c-1", "badge": 3}"#
            let answer = try await fixture.bo.ask(.post, "/conversations/\(fixture.token)/messages", draft)

            #expect(answer.status == 200)
            #expect(answer.json["seq"].int == 1)
            #expect(answer.json["change"].int == 1)
            #expect(answer.json["chatId"].int == Int(fixture.conversation.id.rawValue))
            #expect(answer.json["data"].string == "Hi")
            #expect(answer.json["mime"].string == "text/plain")
            #expect(answer.json["encoding"].string == "utf8")
            #expect(answer.json["meta"] == .object(["a": .array([.bool(true), .null]), "b": .integer(1)]))
            #expect(answer.json["senderUser"]["serial"].string == "bo")
            #expect(answer.json["senderUser"]["id"].int.map { $0 > 0 } == true)
            #expect(answer.json["reads"] == .array([.string("bo")]))
            #expect(answer.json["clientMessageId"].string == "c-1")
            #expect(answer.json["reactions"] == .object([:]))
            let read = try await fixture.ana.ask(.get, "/conversations/\(fixture.token)/messages").json["messages"][0]
            #expect(read == answer.json)
        }
    }

    @Test("A repeated request with an idempotency key sends one message, even after a lost response")
    func lostResponse() async throws {
        try await withConversation { fixture in
            func send() async throws -> TestHTTPResponse {
                let headers: HTTPFields = [.idempotencyKey: "k"]
                return try await fixture.bo.ask(
                    .post,
                    "/conversations/\(fixture.token)/messages",
                    #"{"data": "Hi"}"#,
                    headers: headers
                )
            }
            let first = try await send()
            let database = fixture.service.database
            let token = try await database.pool.one(
                "SELECT substr(client_message_id, 2)::uuid AS token FROM messages",
                as: { try $0.uuid("token") }
            )
            try await database.loseAnswer(to: "k", token: token)

            #expect(try await send().body == first.body)
            #expect(try await fixture.ana.conversations.messages(fixture.token).count == 1)
        }
    }

    @Test("A repeated client message id returns the first message")
    func clientMessageID() async throws {
        try await withConversation { fixture in
            let first = try await fixture.bo.conversations.send(
                .init(data: "one", clientMessageId: "1"),
                to: fixture.token
            )
            let second = try await fixture.bo.conversations.send(
                .init(data: "two", clientMessageId: "1"),
                to: fixture.token
            )
            #expect(first == second)
            #expect(try await fixture.ana.conversations.messages(fixture.token) == [first])
        }
    }

    @Test("Every text is returned unchanged")
    func texts() async throws {
        try await withConversation { fixture in
            let texts = [
                "plain", "\"quoted\" \\ / \n\t\r", "ünï¢ödé 🎈👩‍👩‍👧", "\u{1}\u{1F}\u{7F}", "\u{2028}\u{FFFF}",
                String(repeating: "é", count: 32_768),
            ]
            for text in texts { try await fixture.bo.send(text, in: fixture.token) }
            #expect(try await fixture.ana.conversations.messages(fixture.token).reversed().map(\.data) == texts)
        }
    }

    /// Compares every form of history query with the filtered list of all messages.
    @Test("Every history query returns the right messages")
    func historyQueries() async throws {
        try await withConversation { fixture in
            for number in 1...57 { try await fixture.bo.send("\(number)", in: fixture.token) }
            _ = try await fixture.service.database.pool.execute(
                "UPDATE messages SET created_at = timestamptz '2026-01-01T00:00:00Z' + (seq / 2) * interval '1.25 seconds'"
            )
            let all = try await fixture.history([("count", "100")])
            #expect(all.map(\.seq) == Array((1...57).reversed()))

            for count in [1, 7, 20, 100] {
                for page in [0, 1, 2, 8, 60, 1_000_000] {
                    let found = try await fixture.history([("count", "\(count)"), ("page", "\(page)")])
                    #expect(found == Array(all.dropFirst(count * page).prefix(count)))
                    for moment in [all[0].createdAt, all[20].createdAt, all[56].createdAt] {
                        let older = all.filter { $0.createdAt < moment }.dropFirst(count * page).prefix(count)
                        for before in ["\(moment.timeIntervalSince1970)", Timestamp.string(from: moment)] {
                            let query = [("before", before), ("count", "\(count)"), ("page", "\(page)")]
                            #expect(try await fixture.history(query) == Array(older))
                        }
                    }
                }
                for seq in [0, 1, 2, 30, 57, 58, 1_000] as [Int64] {
                    let before = try await fixture.history([("beforeSeq", "\(seq)"), ("count", "\(count)")])
                    #expect(before == Array(all.filter { $0.seq < seq }.prefix(count)))
                    let after = try await fixture.history([("afterSeq", "\(seq)"), ("count", "\(count)")])
                    #expect(after == Array(all.filter { $0.seq > seq }.suffix(count)))
                }
            }
            #expect(try await fixture.history([]).count == 20)
            #expect(try await fixture.history([("before", "2026-01-01T02:00:00+02:00")]).isEmpty)
            #expect(
                try await fixture.ana.ask(
                    .get,
                    "/conversations/\(fixture.token)/messages?before=2026-01-01T02:00:10+02:00"
                )
                .status == 200
            )
        }
    }

    @Test("`before` returns the messages older than a time")
    func beforeParameter() async throws {
        try await withConversation { fixture in
            for number in 1...12 { try await fixture.bo.send("\(number)", in: fixture.token) }
            let all = try await fixture.history([])
            for message in all {
                let older = try await fixture.history([("before", Timestamp.string(from: message.createdAt))])
                #expect(older == all.filter { $0.createdAt < message.createdAt })
            }
        }
    }

    @Test("A new member reads the whole history, a former member none of it")
    func historyPermission() async throws {
        try await withConversation { fixture in
            for number in 1...3 { try await fixture.bo.send("\(number)", in: fixture.token) }
            try await fixture.eve.conversations.join(fixture.token)
            #expect(try await fixture.eve.conversations.messages(fixture.token).count == 4)
            #expect(try await fixture.eve.conversations.conversation(fixture.token).unreadCount == 3)

            try await fixture.eve.conversations.leave(fixture.token)
            #expect(try await fixture.eve.ask(.get, "/conversations/\(fixture.token)/messages").status == 404)
        }
    }

    @Test("A message id contains the conversation and sequence, and fits into 53 bits")
    func messageID() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            let bits = Int.random(in: 1...31, using: &random)
            let seq = Int64.random(in: 1..<(1 << bits), using: &random)
            let length = 64 - seq.leadingZeroBitCount
            let conversation = Conversation.ID(Int64.random(in: 1..<(1 << (49 - length)), using: &random))
            let id = Message.ID(conversation, seq: seq)

            #expect(id.conversation == conversation)
            #expect(id.seq == seq)
            #expect((1..<(1 << 53)).contains(id.rawValue))
            #expect(Message.ID(conversation, seq: seq + 1) > id)
        }
    }
}

extension ConversationFixture {
    func history(_ query: [(String, String)]) async throws -> [Message] {
        try await ana.conversations.messages(token, query: query)
    }
}
