import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The tables `block_backfill` and `block_backfill_events`: how far the suite's list of blocks was read, and what was heard meanwhile.
struct BlockBackfillStore<Executor: PostgresExecutor> {
    let db: Executor

    /// From now on news is noted: what was heard before is in the list that is read from now on.
    func begin() async throws {
        try await db.run("UPDATE block_backfill SET began_at = clock_timestamp() WHERE began_at IS NULL")
    }

    /// The last entry that was taken over; nil once there is nothing more to read.
    func position() async throws -> ListedBlock? {
        try await db.first("SELECT \(unsafe: Self.columns) FROM block_backfill WHERE ended_at IS NULL", as: Self.block)
    }

    /// The same; nobody goes on from there, and no news is noted, until the transaction ends.
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

    /// Nobody is named here any more.
    func end() async throws {
        try await db.run(
            """
            UPDATE block_backfill SET ended_at = clock_timestamp(), application_id = '', user_id = '', blocked_id = ''
            """
        )
        try await db.run("DELETE FROM block_backfill_events")
    }

    /// Notes, as long as the list is read, that something newer was heard: of one block, or of everything of somebody's.
    func record(_ user: User.ID, _ blocked: String = "") async throws {
        // Under a lock of the row: what is taken over meanwhile is seen by whoever notes, or sees the note.
        try await db.run(
            """
            WITH open AS (SELECT FROM block_backfill WHERE began_at IS NOT NULL AND ended_at IS NULL FOR SHARE)
            INSERT INTO block_backfill_events (application_id, user_id, blocked_id)
            SELECT \(user.application), \(user.user), \(blocked) FROM open ON CONFLICT DO NOTHING
            """
        )
    }

    /// Whether something newer was heard of a block, or of one of the two.
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
