import ConversationsAPI
@testable import ConversationsServer
import Foundation
import Postgres
import TestSupport
import Testing

/// The rows of the outbox and their retention.
@Suite("Outbox") struct OutboxPrunerTests {
    @Test("Every message is in one outbox row, with the data of its notification")
    func rows() async throws {
        try await withStore { fixture in
            let (token, ana) = (fixture.conversation, StoreFixture.user("ana"))
            let instance = Instance("one", over: fixture.pool, bus: fixture.bus("outbox"))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<40 {
                    let draft = MessageDraft(data: "\(number)", pushMessage: number == 7 ? "look" : nil)
                    tasks.addTask { _ = try await instance.messages.send(draft, to: token, by: ana) }
                }
                tasks.addTask { _ = try await instance.members.join(token, StoreFixture.user("dan")) }
                tasks.addTask { _ = try await instance.members.kick("cat", from: token, by: ana) }
                try await tasks.waitForAll()
            }
            // A read mark adds no row.
            _ = try await instance.messages.markRead(Message.ID(token.id, seq: 42), in: token, by: ana)

            let rows = try await fixture.pool.all(
                "SELECT from_seq, to_seq FROM outbox WHERE kind = 'messages' AND conversation_id = \(token.id) ORDER BY 1",
                as: { (try $0.int64("from_seq"), try $0.int64("to_seq")) }
            )
            #expect(rows.flatMap { Array($0...$1) } == Array(1...42))
            let counts = try await fixture.pool.one(
                """
                SELECT count(*) FILTER (WHERE messages.push LIKE '%look%') AS pushed,
                       count(*) FILTER (WHERE messages.sender_id IS NULL) AS system
                FROM outbox JOIN messages ON messages.conversation_id = outbox.conversation_id
                    AND messages.seq BETWEEN outbox.from_seq AND outbox.to_seq
                WHERE outbox.kind = 'messages'
                """,
                as: { [try $0.int("pushed"), try $0.int("system")] }
            )
            #expect(counts == [1, 2])
        }
    }

    @Test("Rows are removed after the retention period")
    func retention() async throws {
        try await withStore { fixture in
            for _ in 0..<5 { _ = try await fixture.writeShards.write(fixture.draft()) }
            _ = try await fixture.pool.execute(
                "UPDATE outbox SET written_at = now() - interval '1 hour' WHERE from_seq <= 3"
            )

            try await OutboxPruner(
                database: fixture.pool,
                retention: 600,
                logger: StoreFixture.logger,
                now: { Date() }
            ).prune()

            let left = try await fixture.pool.all(
                "SELECT from_seq FROM outbox ORDER BY 1",
                as: { try $0.int("from_seq") }
            )
            #expect(left == [4, 5])
        }
    }
}
