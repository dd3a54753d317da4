import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// How a lane waits, gives way and gives up.
@Suite struct LaneTests {
    @Test func aFullLaneRefusesAtOnce() async throws {
        try await withStore(.with { $0.laneQueue = 4 }) { scene in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await scene.holdingLock {
                    tasks.addTask { try await scene.expectNew(scene.draft()) }
                    try await scene.untilLaneWaits()
                    for _ in 0..<4 { tasks.addTask { try await scene.expectNew(scene.draft()) } }
                    try await scene.untilQueued(4)

                    let refusal = await #expect(throws: APIError.self) {
                        try await scene.lanes.write(scene.draft())
                    }
                    #expect(refusal?.kind == .unavailable)
                    #expect(refusal?.retryAfter != nil)
                }
                try await tasks.waitForAll()
            }
            #expect(try await scene.audit() == .sound(5))
        }
    }

    @Test func aConversationThatIsHeldUpHoldsUpNoOther() async throws {
        try await withStore(
            .with {
                $0.lanes = 1
                $0.laneTimeout = .milliseconds(100)
            }
        ) { scene in
            let other = try await scene.newConversation()

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await scene.holdingLock {
                    tasks.addTask { try await scene.expectNew(scene.draft()) }
                    try await scene.untilLaneWaits()
                    tasks.addTask { try await scene.expectNew(scene.draft("also held up")) }
                    try await scene.untilQueued(1)

                    #expect(try await scene.lanes.write(scene.draft(in: other)).isNew)
                }
                try await tasks.waitForAll()
            }
            #expect(try await scene.audit() == .sound(2))
        }
    }

    @Test func withoutADatabaseACallerIsToldInTime() async throws {
        var configuration = try PostgresConfiguration(url: "postgres://nobody@127.0.0.1:1/nowhere")
        configuration.acquireTimeout = .milliseconds(50)
        let pool = PostgresPool(configuration: configuration, logger: StoreScene.logger)
        var settings = ConversationsConfiguration()
        settings.sendDeadline = .milliseconds(200)
        let lanes = WriteLanes(database: pool, configuration: settings, logger: StoreScene.logger)
        let token = ConversationToken(id: Conversation.ID(1), secret: ConversationToken.newSecret())

        let refusal = await #expect(throws: APIError.self) {
            try await lanes.write(
                .mark(MarkWrite(conversation: token, user: StoreScene.user("ann"), extent: .upTo(seq: 1)))
            )
        }
        #expect(refusal?.kind == .unavailable)
        await pool.shutdown()
    }

    @Test func whatIsWrittenAtOnceTravelsTogether() async throws {
        try await withStore { scene in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await scene.holdingLock {
                    tasks.addTask { _ = try await scene.lanes.write(scene.draft()) }
                    try await scene.untilLaneWaits()
                    for _ in 0..<64 { tasks.addTask { _ = try await scene.lanes.write(scene.draft()) } }
                    try await scene.untilQueued(64)
                }
                try await tasks.waitForAll()
            }

            let batches = try await scene.pool.one("SELECT count(*) AS n FROM outbox", as: { try $0.int("n") })
            #expect(batches == 2)
        }
    }

    @Test func aBatchIsBoundedByItsSize() async throws {
        try await withStore { scene in
            let text = String(repeating: "x", count: 65_000)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await scene.holdingLock {
                    tasks.addTask { _ = try await scene.lanes.write(scene.draft()) }
                    try await scene.untilLaneWaits()
                    for _ in 0..<12 { tasks.addTask { _ = try await scene.lanes.write(scene.draft(text)) } }
                    try await scene.untilQueued(12)
                }
                try await tasks.waitForAll()
            }

            let batches = try await scene.pool.one("SELECT count(*) AS n FROM outbox", as: { try $0.int("n") })
            #expect(batches == 1 + 12 / 4)
        }
    }

    @Test func theSegmentReadsNoTableThrough() async throws {
        try await withStore { scene in
            for _ in 0..<300 { _ = try await scene.lanes.write(scene.draft(String(repeating: "x", count: 500))) }
            try await TableStatistics(database: scene.pool).keep()
            let query = SendSegment.insert([MessageWrite.plain(in: scene.conversation)])
            let plan = try await scene.pool.transaction { db in
                for (name, value) in SendSegment.settings {
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

    @Test func anEmptyTableIsNotLookedAtBecauseAnotherGrew() async throws {
        try await withStore { scene in
            let statistics = TableStatistics(database: scene.pool)
            _ = try await scene.pool.execute(
                "INSERT INTO users (application_id, user_id) SELECT 'bulk', n FROM generate_series(1, 3000) AS n"
            )
            _ = try await scene.pool.execute(
                """
                INSERT INTO members (conversation_id, application_id, user_id, user_number, place, is_admin)
                SELECT \(scene.conversation.id.rawValue), application_id, user_id, user_number, user_number, false
                FROM users WHERE application_id = 'bulk'
                """
            )
            func rows(of table: String) async throws -> Double {
                let query: PostgresQuery = "SELECT reltuples::float8 AS n FROM pg_class WHERE oid = \(table)::regclass"
                return try await scene.pool.one(query, as: { try $0.double("n") })
            }

            try await statistics.keep()

            #expect(try await rows(of: "members") >= 3_000)
            #expect(try await rows(of: "messages") == -1)
        }
    }
}

extension MessageWrite {
    static func plain(_ data: String = "hello", in token: ConversationToken) -> MessageWrite {
        MessageWrite(
            conversation: token,
            sender: StoreScene.user("ann"),
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
