import ConversationsAPI
import Foundation
import HTTPTypes
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

@Suite("Search") struct SearchTests {
    /// Texts, queries that find them and queries that do not.
    static let texts: [(text: String, finds: [String], misses: [String])] = [
        (
            "The Quick brown fox", ["quick", "QUICK fox", "fox the", "bro", "Quick, brown!"],
            ["uick", "quick bro fox", "foxes", "qui brown "]
        ),
        ("Größe und Straße, élan vital", ["grosse", "GRÖSSE", "strasse", "elan", "é"], ["stras und", "vita élan"]),
        ("Καλημέρα κόσμος", ["καλημερα", "ΚΌΣΜΟΣ", "κόσμο"], ["οσμος"]),
        ("Привет, как дела?", ["ПРИВЕТ", "дела прив"], ["ривет"]),
        ("今天天气很好，我们去散步吧", ["天气", "散步", "今天天气", "吧", "天", "我们 天气"], ["下雨", "天去"]),
        ("東京タワーに行きました", ["東京", "タワー", "行きました"], ["大阪"]),
        ("สวัสดีครับ วันนี้อากาศดี", ["สวัสดี", "อากาศ"], ["ฝนตก"]),
        ("مَرْحَبًا بالعالم", ["بالعالم", "بال"], ["عالم"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनि"], ["निया"]),
        ("안녕하세요 세계", ["안녕", "세계"], ["하세요"]),
        ("party 🎉 at 10:30, room B-12", ["🎉", "10 30", "b 12", "party 🎉"], ["🎈", "part 🎉"]),
        ("ﬁne ｆｕｌｌ ①", ["fine", "full", "1"], ["2"]),
    ]

    @Test("Words of any script are found, before and after indexing")
    func scripts() async throws {
        try await withConversation { fixture in
            for (text, _, _) in Self.texts { try await fixture.bo.send(text, in: fixture.token) }
            for _ in 0..<2 {
                for (text, finds, misses) in Self.texts {
                    for query in finds {
                        #expect(try await fixture.texts(query).contains(text), "\(query)")
                    }
                    for query in misses {
                        #expect(try await !fixture.texts(query).contains(text), "\(query)")
                    }
                }
                try await fixture.indexAll()
            }
        }
    }

    @Test("A found message equals the message in the history")
    func result() async throws {
        try await withConversation { fixture in
            let said = try await fixture.bo.send("hello there", in: fixture.token)
            try await fixture.ana.conversations.react("👍", to: said.id, in: fixture.token)
            _ = try await fixture.bo.conversations.send(.init(data: "hello back", replyTo: said.id), to: fixture.token)
            let history = try await fixture.ana.conversations.messages(fixture.token)

            let found = try await fixture.ana.conversations.search("hello").items
            #expect(found.map(\.message) == history)
            #expect(found[0].conversation == .init(token: fixture.token, label: "Walks", type: .group))
            try await fixture.indexAll()
            #expect(try await fixture.ana.conversations.search("hello").items == found)
        }
    }

    @Test("An edited message is found by its new text only, a deleted message not at all")
    func editsAndDeletions() async throws {
        try await withConversation { fixture in
            for isIndexed in [false, true] {
                let edited = try await fixture.bo.send("a zebra", in: fixture.token)
                let deleted = try await fixture.bo.send("another zebra", in: fixture.token)
                if isIndexed { try await fixture.indexAll() }
                #expect(try await fixture.texts("zebra") == ["another zebra", "a zebra"])

                try await fixture.bo.conversations.edit(edited.id, in: fixture.token, to: .init(data: "a giraffe"))
                try await fixture.bo.conversations.delete(deleted.id, in: fixture.token)

                for _ in 0..<2 {
                    #expect(try await fixture.texts("zebra").isEmpty)
                    #expect(try await fixture.texts("giraffe") == ["a giraffe"])
                    if isIndexed { try await fixture.indexAll() }
                }
                try await fixture.bo.conversations.delete(edited.id, in: fixture.token)
            }
            // The index does not contain the old texts either.
            let known = try await fixture.service.database.pool.all(
                "SELECT words::text AS words FROM search_entries",
                as: { try $0.string("words") }
            )
            #expect(known.allSatisfy { !$0.contains("zebra") })
        }
    }

    @Test("A user finds messages of their own conversations only")
    func ownConversationsOnly() async throws {
        try await withConversation { fixture in
            try await fixture.ana.send("the secret", in: fixture.token)
            let mine = try await fixture.eve.conversations.create(.init(label: "Mine"))
            try await fixture.eve.send("my secret", in: mine.token)
            for _ in 0..<2 {
                #expect(try await fixture.eve.conversations.search("secret").items.map(\.message.data) == ["my secret"])
                let twin = try await fixture.person("ana", application: RoostApplication.id)
                #expect(try await twin.conversations.search("secret").items.isEmpty)
                try await fixture.indexAll()
            }
            try await fixture.eve.conversations.join(fixture.token)
            #expect(try await fixture.eve.conversations.search("secret").items.count == 2)
            try await fixture.ana.conversations.kick("eve", from: fixture.token)
            #expect(try await fixture.eve.conversations.search("secret").items.count == 1)
            try await fixture.bo.conversations.leave(fixture.token)
            #expect(try await fixture.bo.conversations.search("secret").items.isEmpty)
        }
    }

    @Test("Only text messages are searched")
    func mediaTypes() async throws {
        try await withConversation { fixture in
            try await fixture.eve.conversations.join(fixture.token)
            for draft in [
                MessageDraft(data: #"{"word": "needle"}"#, encoding: "json"),
                MessageDraft(data: "needle", mime: "application/x-note"),
                MessageDraft(data: "needle", mime: "text/markdown"),
            ] { _ = try await fixture.ana.conversations.send(draft, to: fixture.token) }
            for _ in 0..<2 {
                let found = try await fixture.ana.conversations.search("needle").items
                #expect(found.map(\.message.mime) == ["text/markdown"])
                #expect(try await fixture.texts("joined").isEmpty)
                try await fixture.indexAll()
            }
        }
    }

    @Test("Paging during writes and indexing finds every message once, newest first")
    func pagingDuringWrites() async throws {
        try await withConversation { fixture in
            let tokens = try await fixture.manyConversations(8)
            for number in 0..<120 { try await fixture.bo.send("needle \(number)", in: tokens[number % 8]) }
            let isOver = SharedValue(false)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    while !isOver.value {
                        guard let token = tokens.randomElement() else { return }
                        try await fixture.bo.send("another needle", in: token)
                    }
                }
                tasks.addTask {
                    let index = SearchIndex.forTests(fixture.service.database.pool, rest: 0)
                    while !isOver.value { try await index.advance() }
                }
                tasks.addTask {
                    for limit in [3, 7, 100] {
                        let found = try await fixture.walk("needle", limit: limit)
                        let numbered = found.filter { $0.message.data.hasPrefix("needle") }
                        // Messages of the same millisecond have no order.
                        #expect(numbered.count == 120)
                        #expect(Set(numbered.map(\.message.data)) == Set((0..<120).map { "needle \($0)" }))
                        #expect(Set(found.map(\.message.id)).count == found.count)
                        let dates = found.map(\.message.createdAt)
                        #expect(dates == dates.sorted(by: >))
                    }
                    isOver.change { $0 = true }
                }
                try await tasks.waitForAll()
            }
        }
    }

    @Test("The messages of a long conversation are found")
    func longConversation() async throws {
        try await withConversation { fixture in
            try await fixture.write(9_000) { "case when n % 1000 = 0 then 'rare ' else '' end || 'common ' || n" }
            try await fixture.indexAll()

            #expect(
                try await fixture.walk("rare", limit: 4).map(\.message.seq) == (1...9).reversed().map { $0 * 1_000 }
            )
            let common = try await fixture.ana.conversations.search("common", limit: 100).items.map(\.message.seq)
            #expect(common == Array((8_901...9_000).reversed()))
            #expect(try await fixture.texts("common 4095 ") == ["common 4095"])
            #expect(try await fixture.texts("common 899").count == 11)
            #expect(try await fixture.texts("absent common").isEmpty)
        }
    }

    @Test("A cursor is valid only for its own query and user")
    func cursor() async throws {
        try await withConversation { fixture in
            for _ in 0..<3 { try await fixture.ana.send("one two", in: fixture.token) }
            let cursor = try #require(try await fixture.ana.conversations.search("one", limit: 1).next)
            #expect(try await fixture.ana.conversations.search("ONE", limit: 1, cursor: cursor).items.count == 1)
            for (person, query) in [(fixture.ana, "two"), (fixture.bo, "one")] {
                let answer = try await person.ask(.get, "/conversations/search?q=\(query)&cursor=\(cursor)")
                #expect(answer.status == 400)
                #expect(answer.problem?.field == "cursor")
            }
        }
    }
}

extension ConversationFixture {
    fileprivate func texts(_ query: String) async throws -> [String] {
        try await ana.conversations.search(query, limit: 100).items.map(\.message.data)
    }

    /// Returns the results of all pages.
    fileprivate func walk(_ query: String, limit: Int) async throws -> [FoundMessage] {
        var (found, cursor): ([FoundMessage], String?) = ([], nil)
        repeat {
            let page = try await ana.conversations.search(query, limit: limit, cursor: cursor)
            #expect(page.items.count <= limit)
            found += page.items
            cursor = page.next
        } while cursor != nil
        return found
    }

    /// Inserts `count` messages of Bo, a millisecond apart, with the rows that sending would have written.
    fileprivate func write(_ count: Int, text: () -> String) async throws {
        let pool = service.database.pool
        _ = try await pool.execute(
            """
            INSERT INTO messages (conversation_id, seq, change, user_seq, sender_id, sender_number, client_message_id,
                                  data, mime, encoding, created_at)
            SELECT conversation_id, n, n, n, 'bo', 1, n::text, \(unsafe: text()), 'text/plain', 'utf8',
                   last_at + n * interval '1 millisecond'
            FROM heads, generate_series(1, \(count)) AS n WHERE conversation_id = \(conversation.id)
            """
        )
        _ = try await pool.execute(
            """
            UPDATE heads SET last_seq = \(count), last_change = \(count), last_user_seq = \(count),
                last_at = last_at + \(count) * interval '1 millisecond'
            WHERE conversation_id = \(conversation.id)
            """
        )
    }
}
