import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// The queue, batches and timeouts of a write shard.
@Suite("Write shards") struct WriteShardTests {
    @Test("A write to a full shard is rejected immediately")
    func queueLimit() async throws {
        try await withStore(.with { $0.writeShardQueue = 4 }) { fixture in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await fixture.holdingLock {
                    tasks.addTask { try await fixture.expectNew(fixture.draft()) }
                    try await fixture.waitForBlockedShard()
                    for _ in 0..<4 { tasks.addTask { try await fixture.expectNew(fixture.draft()) } }
                    try await fixture.waitForQueued(4)

                    let refusal = await #expect(throws: APIError.self) {
                        try await fixture.writeShards.write(fixture.draft())
                    }
                    #expect(refusal?.kind == .unavailable)
                    #expect(refusal?.retryAfter != nil)
                }
                try await tasks.waitForAll()
            }
            #expect(try await fixture.audit() == .consistent(5))
        }
    }

    @Test("A locked conversation does not delay other conversations of its shard")
    func lockedConversation() async throws {
        try await withStore(
            .with {
                $0.writeShards = 1
                $0.writeShardTimeout = .milliseconds(100)
            }
        ) { fixture in
            let other = try await fixture.newConversation()

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await fixture.holdingLock {
                    tasks.addTask { try await fixture.expectNew(fixture.draft()) }
                    try await fixture.waitForBlockedShard()
                    tasks.addTask { try await fixture.expectNew(fixture.draft("also held up")) }
                    try await fixture.waitForQueued(1)

                    #expect(try await fixture.writeShards.write(fixture.draft(in: other)).isNew)
                }
                try await tasks.waitForAll()
            }
            #expect(try await fixture.audit() == .consistent(2))
        }
    }

    @Test("Without a database a write fails within its deadline")
    func noDatabase() async throws {
        var configuration = try PostgresConfiguration(url: "postgres://nobody@127.0.0.1:1/nowhere")
        configuration.acquireTimeout = .milliseconds(50)
        let pool = PostgresPool(configuration: configuration, logger: StoreFixture.logger)
        var settings = ConversationsConfiguration()
        settings.sendDeadline = .milliseconds(200)
        let writeShards = WriteShards(database: pool, configuration: settings, logger: StoreFixture.logger)
        let token = ConversationToken(id: Conversation.ID(1), secret: ConversationToken.newSecret())

        let refusal = await #expect(throws: APIError.self) {
            try await writeShards.write(
                .mark(MarkWrite(conversation: token, user: StoreFixture.user("ana"), extent: .upTo(seq: 1)))
            )
        }
        #expect(refusal?.kind == .unavailable)
        await pool.shutdown()
    }

    @Test("Waiting drafts are written in one batch")
    func batching() async throws {
        try await withStore { fixture in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await fixture.holdingLock {
                    tasks.addTask { _ = try await fixture.writeShards.write(fixture.draft()) }
                    try await fixture.waitForBlockedShard()
                    for _ in 0..<64 { tasks.addTask { _ = try await fixture.writeShards.write(fixture.draft()) } }
                    try await fixture.waitForQueued(64)
                }
                try await tasks.waitForAll()
            }

            let batches = try await fixture.pool.one("SELECT count(*) AS n FROM outbox", as: { try $0.int("n") })
            #expect(batches == 2)
        }
    }

    @Test("The size of a batch is limited")
    func batchSize() async throws {
        try await withStore { fixture in
            let text = String(repeating: "x", count: 65_000)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await fixture.holdingLock {
                    tasks.addTask { _ = try await fixture.writeShards.write(fixture.draft()) }
                    try await fixture.waitForBlockedShard()
                    for _ in 0..<12 { tasks.addTask { _ = try await fixture.writeShards.write(fixture.draft(text)) } }
                    try await fixture.waitForQueued(12)
                }
                try await tasks.waitForAll()
            }

            let batches = try await fixture.pool.one("SELECT count(*) AS n FROM outbox", as: { try $0.int("n") })
            #expect(batches == 1 + 12 / 4)
        }
    }

    @Test("The insert of messages uses the index on client message ids")
    func noSequentialScan() async throws {
        try await withStore { fixture in
            for _ in 0..<300 {
                _ = try await fixture.writeShards.write(fixture.draft(String(repeating: "x", count: 500)))
            }
            try await AutoAnalyze(database: fixture.pool).run()
            let query = BatchWriter.insert([MessageWrite.plain(in: fixture.conversation)])
            let plan = try await fixture.pool.transaction { db in
                for (name, value) in BatchWriter.settings {
                    _ = try await db.execute("SELECT set_config(\(name), \(value), true)")
                }
                return try await db.all(
                    PostgresQuery(sql: "EXPLAIN " + query.sql, parameters: query.parameters),
                    as: { try $0.decode(at: 0, as: String.self) }
                )
            }
            .joined(separator: "\n")

            #expect(!plan.contains("Seq Scan"), "\(plan)")
            #expect(plan.contains("messages_client_key"))
        }
    }

    @Test("Statistics are updated only for the table that grew")
    func analyze() async throws {
        try await withStore { fixture in
            let statistics = AutoAnalyze(database: fixture.pool)
            _ = try await fixture.pool.execute(
                "INSERT INTO users (application_id, user_id) SELECT 'bulk', n FROM generate_series(1, 3000) AS n"
            )
            _ = try await fixture.pool.execute(
                """
                INSERT INTO members (conversation_id, application_id, user_id, user_number, joined_seq, is_admin)
                SELECT \(fixture.conversation.id.rawValue), application_id, user_id, user_number, user_number, false
                FROM users WHERE application_id = 'bulk'
                """
            )
            func rows(of table: String) async throws -> Double {
                let query: PostgresQuery = "SELECT reltuples::float8 AS n FROM pg_class WHERE oid = \(table)::regclass"
                return try await fixture.pool.one(query, as: { try $0.double("n") })
            }

            try await statistics.run()

            #expect(try await rows(of: "members") >= 3_000)
            #expect(try await rows(of: "messages") == -1)
        }
    }
}

extension MessageWrite {
    static func plain(_ data: String = "hello", in token: ConversationToken) -> MessageWrite {
        MessageWrite(
            conversation: token,
            sender: StoreFixture.user("ana"),
            clientMessageID: UUID().uuidString,
            data: data,
            mime: "text/plain",
            encoding: "utf8",
            meta: nil,
            push: nil,
            replyTo: nil
        )
    }
}
