import ConversationsAPI
import Foundation
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// Indexing of messages, with concurrency and failures.
@Suite("Search index") struct SearchIndexTests {
    @Test("Concurrent indexing indexes every message once")
    func concurrency() async throws {
        try await withConversation { fixture in
            let tokens = try await fixture.manyConversations(20)
            for number in 0..<100 { try await fixture.bo.send("needle \(number)", in: tokens[number % 20]) }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<3 { tasks.addTask { try await fixture.indexAll() } }
                try await tasks.waitForAll()
            }
            try await fixture.indexAll()
            let pool = fixture.service.database.pool
            let counts = try await pool.one(
                """
                SELECT (SELECT count(*) FROM search_entries) AS entries, (
                    SELECT count(*) FROM heads JOIN search_marks USING (conversation_id)
                    WHERE last_change > indexed_change
                ) AS left_over
                """,
                as: { [try $0.int("entries"), try $0.int("left_over")] }
            )
            #expect(counts == [100, 0])
        }
    }

    enum Fault: String, CaseIterable {
        /// The database rejects the message's entry.
        case refused
        /// The message's entry ends the connection, like a timeout or a crash of the backend.
        case disconnected

        func body(_ message: Message.ID) -> String {
            let fault =
                switch self {
                case .refused: "RAISE EXCEPTION 'refused'"
                case .disconnected: "PERFORM pg_terminate_backend(pg_backend_pid())"
                }
            return """
                BEGIN
                    IF NEW.conversation_id = \(message.conversation.rawValue) AND NEW.seq = \(message.seq) THEN \(fault); END IF;
                    RETURN NEW;
                END
                """
        }
    }

    @Test("A message that cannot be indexed is set aside, and all others are indexed", arguments: Fault.allCases)
    func failing(_ fault: Fault) async throws {
        try await withConversation { fixture in
            let pool = fixture.service.database.pool
            let tokens = try await fixture.manyConversations(10)
            let before = try await fixture.bo.send("needle", in: fixture.token)
            // The trigger exists before the message that it affects.
            let bad = Message.ID(fixture.conversation.id, seq: before.seq + 1)
            try await fixture.fail(fault, bad)
            let said = try await fixture.bo.send("needle", in: fixture.token)
            #expect(said.id == bad)
            for token in [fixture.token] + tokens { try await fixture.bo.send("needle", in: token) }

            let index = SearchIndex.forTests(pool, rest: 0)
            try await eventually(within: .seconds(120), "indexed") {
                _ = try? await index.advance()
                return try await fixture.stale().isEmpty
            }
            #expect(try await fixture.failures() == [bad.seq])
            #expect(try await fixture.entries() == 12)

            // Each attempt is due immediately here, not after a pause.
            try await eventually(within: .seconds(120), "set aside") {
                _ = try? await fixture.retryAtOnce(index)
                return try await fixture.setAside() == 1
            }
            #expect(try await fixture.failures() == [bad.seq])

            try await pool.run("DROP TRIGGER test ON search_entries")
            try await pool.run("UPDATE search_failures SET retry_at = clock_timestamp()")
            try await eventually(within: .seconds(60), "indexed after all") {
                _ = try? await index.retry()
                return try await fixture.entries() == 13
            }
            #expect(try await fixture.failures().isEmpty)
            #expect(try await fixture.ana.conversations.search("needle", limit: 100).items.count == 13)
        }
    }

    @Test("The most expensive messages delay neither other conversations nor a deletion")
    func hostile() async throws {
        try await withConversation { fixture in
            let tokens = try await fixture.manyConversations(5)
            let hostile = String(repeating: "\u{FDFA}", count: 21_800)
            for _ in 0..<11 { try await fixture.bo.send(hostile, in: fixture.token) }
            for token in tokens { try await fixture.bo.send("needle", in: token) }

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    let index = SearchIndex.forTests(fixture.service.database.pool, rest: 0)
                    try await eventually(within: .seconds(120), "indexed") {
                        try await index.advance()
                        return try await fixture.stale().isEmpty
                    }
                }
                tasks.addTask { try await fixture.ana.conversations.delete(fixture.token) }
                try await tasks.waitForAll()
            }
            #expect(try await fixture.ana.conversations.search("needle").items.count == 5)
            #expect(try await fixture.failures().isEmpty)
        }
    }
}

@Suite("Words of a text") struct SearchWordsTests {
    @Test("Only the first 20,000 scalars of the folded text are read")
    func scalars() {
        // Each character folds to 18 scalars.
        #expect(SearchWords.words(in: String(repeating: "\u{FDFA}", count: 1_000) + " needle").contains("needle"))
        #expect(!SearchWords.words(in: String(repeating: "\u{FDFA}", count: 1_200) + " needle").contains("needle"))
        #expect(!SearchWords.words(in: String(repeating: "a ", count: 10_000) + "needle").contains("needle"))
    }

    @Test("A text has at most 10,000 different words")
    func words() {
        let han = (0x4E00..<0x4E00 + 18_000 as Range<UInt32>).compactMap { Unicode.Scalar($0).map(Character.init) }
        #expect(SearchWords.words(in: String(han)).count == SearchWords.maximumWords)
    }

    @Test("At most 30 consecutive combining marks are read")
    func marks() {
        // Alternating two combining classes is the most expensive input for sorting.
        let marks = String(repeating: "\u{20D0}\u{5B0}", count: 10_000)
        let words = SearchWords.words(in: "x" + marks)
        #expect(words.map { $0.unicodeScalars.count } == [31])
    }
}

extension SearchIndex {
    static func forTests(
        _ pool: PostgresPool,
        rest: TimeInterval = 300,
        now: @escaping @Sendable () -> Date = { Date() }
    ) -> SearchIndex {
        SearchIndex(
            database: pool,
            rest: rest,
            setAside: SetAside([.searchedMessage], database: pool, logger: StoreFixture.logger, now: now),
            logger: StoreFixture.logger,
            now: now
        )
    }
}

extension ConversationFixture {
    fileprivate func fail(_ fault: SearchIndexTests.Fault, _ message: Message.ID) async throws {
        let pool = service.database.pool
        try await pool.run(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ \(unsafe: fault.body(message)) $$"
        )
        try await pool.run(
            "CREATE TRIGGER test BEFORE INSERT ON search_entries FOR EACH ROW EXECUTE FUNCTION fail()"
        )
    }

    fileprivate func stale() async throws -> [Conversation.ID] {
        try await SearchIndexStore(db: service.database.pool).stale(after: Conversation.ID(0), limit: 100).conversations
    }

    fileprivate func failures() async throws -> [Int64] {
        try await service.database.pool.all("SELECT seq FROM search_failures", as: { try $0.int64("seq") })
    }

    fileprivate func entries() async throws -> Int {
        try await service.database.pool.one("SELECT count(*) AS n FROM search_entries", as: { try $0.int("n") })
    }

    fileprivate func setAside() async throws -> Int {
        try await service.database.pool.one(
            "SELECT count(*) AS n FROM set_aside_rows WHERE kind = 'searched_message' AND retry_at IS NULL",
            as: { try $0.int("n") }
        )
    }

    fileprivate func retryAtOnce(_ index: SearchIndex) async throws {
        let pool = service.database.pool
        try await pool.run("UPDATE search_failures SET retry_at = clock_timestamp() WHERE retry_at < 'infinity'")
        try await pool.run("UPDATE set_aside_rows SET retry_at = now() WHERE retry_at IS NOT NULL")
        try await index.retry()
    }
}

extension ConversationFixture {
    /// Creates conversations of Ana with Bo as a member.
    func manyConversations(_ count: Int) async throws -> [String] {
        var tokens: [String] = []
        for number in 0..<count {
            tokens.append(try await ana.conversations.create(.init(label: "\(number)", members: ["bo"])).token)
        }
        return tokens
    }
}
