import Foundation
import Postgres
import Synchronization
import TestSupport

@testable import ConversationsServer

/// A value that a test's tasks share.
final class SharedValue<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }
    func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}

extension StoreFixture {
    /// Waits until the first statement of a write shard waits for a lock in this schema.
    func waitForBlockedShard() async throws {
        try await eventually {
            try await pool.one(
                """
                SELECT count(*) > 0 AS waits FROM pg_stat_activity
                WHERE application_name = \(database.configuration.applicationName) AND wait_event_type = 'Lock'
                """,
                as: { try $0.bool("waits") }
            )
        }
    }

    func waitForQueued(_ count: Int) async throws {
        try await eventually { writeShards.shard(of: conversation.id).waiting >= count }
    }

    /// Terminates the connections that are writing messages.
    func breakShards() async throws {
        _ = try await pool.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = \(database.configuration.applicationName)
                AND (query LIKE 'WITH drafts%' OR query LIKE 'WITH asked%' OR query LIKE '%FOR NO KEY UPDATE')
            """
        )
    }
}
