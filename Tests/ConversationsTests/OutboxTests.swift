import Foundation
import Postgres
import TestSupport
import Testing

@testable import ConversationsServer

/// What is to be handed on, and how long it is kept.
@Suite struct OutboxTests {
    @Test func whatIsOldIsRemovedAndTheRestIsKept() async throws {
        try await withStore { scene in
            for _ in 0..<5 { _ = try await scene.lanes.write(scene.draft()) }
            _ = try await scene.pool.execute(
                "UPDATE outbox SET written_at = now() - interval '1 hour' WHERE from_seq <= 3"
            )

            try await Outbox(database: scene.pool, retention: 600, now: { Date() }).prune()

            let left = try await scene.pool.all(
                "SELECT from_seq FROM outbox ORDER BY 1",
                as: { try $0.int("from_seq") }
            )
            #expect(left == [4, 5])
        }
    }
}
