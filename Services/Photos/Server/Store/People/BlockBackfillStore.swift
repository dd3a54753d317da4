import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The tables `block_backfill` and `block_backfill_events`: the position of the backfill, and the events during it.
struct BlockBackfillStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Starts recording events: earlier ones are contained in the list, which is read after this.
    func begin() async throws {
        try await db.run("UPDATE block_backfill SET began_at = clock_timestamp() WHERE began_at IS NULL")
    }

    /// Returns the last copied entry; nil once the backfill has ended.
    func position() async throws -> ListedBlock? {
        try await db.first("SELECT \(unsafe: Self.columns) FROM block_backfill WHERE ended_at IS NULL", as: Self.block)
    }

    /// Locks the position until the transaction ends; neither the position nor the recorded events can change
    /// meanwhile.
    func lockPosition() async throws -> ListedBlock? {
        try await db.first(
            "SELECT \(unsafe: Self.columns) FROM block_backfill WHERE ended_at IS NULL FOR UPDATE",
            as: Self.block
        )
    }

    func move(to last: ListedBlock) async throws {
        try await db.run(
            """
            UPDATE block_backfill SET application_id = \(last.applicationId), user_id = \(last.userId),
                blocked_id = \(last.blockedId)
            """
        )
    }

    /// Ends the backfill and deletes the ids of users in both tables.
    func end() async throws {
        try await db.run(
            """
            UPDATE block_backfill SET ended_at = clock_timestamp(), application_id = '', user_id = '', blocked_id = ''
            """
        )
        try await db.run("DELETE FROM block_backfill_events")
    }

    /// Records, during the backfill, that a newer event arrived about one block, or about all blocks of a user.
    func record(_ user: User.ID, _ blocked: String = "") async throws {
        // The shared lock makes recording and copying wait for each other, so that one of them sees the other's result.
        try await db.run(
            """
            WITH open AS (SELECT FROM block_backfill WHERE began_at IS NOT NULL AND ended_at IS NULL FOR SHARE)
            INSERT INTO block_backfill_events (application_id, user_id, blocked_id)
            SELECT \(user.application), \(user.user), \(blocked) FROM open ON CONFLICT DO NOTHING
            """
        )
    }

    /// Returns whether a newer event arrived about a block, or about one of its users.
    func hasNewerEvent(of block: ListedBlock) async throws -> Bool {
        try await db.one(
            """
            SELECT EXISTS (
                SELECT FROM block_backfill_events WHERE application_id = \(block.applicationId) AND (
                    user_id = \(block.userId) AND blocked_id IN (\(block.blockedId), '')
                    OR user_id = \(block.blockedId) AND blocked_id = ''
                )
            ) AS is_newer
            """,
            as: { try $0.bool("is_newer") }
        )
    }

    private static var columns: String { "application_id, user_id, blocked_id" }

    private static func block(_ row: PostgresRow) throws -> ListedBlock {
        ListedBlock(
            applicationId: try row.string("application_id"),
            userId: try row.string("user_id"),
            blockedId: try row.string("blocked_id")
        )
    }
}
