import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `blocks`: whom somebody does not want to hear from.
struct BlockStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Nil: was blocked already.
    func insert(_ blocked: String, by user: User.ID) async throws -> Block? {
        try await db.first(
            """
            INSERT INTO blocks (application_id, user_id, blocked_id, blocked_at)
            VALUES (\(user.application), \(user.user), \(blocked), date_trunc('milliseconds', clock_timestamp()))
            ON CONFLICT DO NOTHING
            RETURNING blocked_id, blocked_at
            """,
            as: Block.init(row:)
        )
    }

    func find(_ blocked: String, by user: User.ID) async throws -> Block? {
        try await db.first(
            """
            SELECT blocked_id, blocked_at FROM blocks
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND blocked_id = \(blocked)
            """,
            as: Block.init(row:)
        )
    }

    /// False: was not blocked.
    func delete(_ blocked: String, by user: User.ID) async throws -> Bool {
        try await db.run(
            """
            DELETE FROM blocks
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND blocked_id = \(blocked)
            """
        ) == 1
    }

    /// How many somebody has blocked, counted no further than `limit`.
    func count(of user: User.ID, upTo limit: Int) async throws -> Int {
        try await db.one(
            """
            SELECT count(*) AS blocks FROM (
                SELECT FROM blocks WHERE application_id = \(user.application) AND user_id = \(user.user) LIMIT \(limit)
            ) AS counted
            """,
            as: { try $0.int("blocks") }
        )
    }

    /// In the order of their names, those after `last`.
    func page(of user: User.ID, after last: String?, limit: Int) async throws -> [Block] {
        try await db.all(
            """
            SELECT blocked_id, blocked_at FROM blocks
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND blocked_id > \(last ?? "")
            ORDER BY blocked_id LIMIT \(limit)
            """,
            as: Block.init(row:)
        )
    }

    /// Those whom a user blocked or who blocked him, in the order of their names, after `last`.
    func blockedPeers(from user: User.ID, after last: String, limit: Int) async throws -> [String] {
        try await db.all(
            """
            (SELECT blocked_id AS other FROM blocks
             WHERE application_id = \(user.application) AND user_id = \(user.user) AND blocked_id > \(last)
             ORDER BY blocked_id LIMIT \(limit))
            UNION
            (SELECT user_id FROM blocks
             WHERE application_id = \(user.application) AND blocked_id = \(user.user) AND user_id > \(last)
             ORDER BY user_id LIMIT \(limit))
            ORDER BY other LIMIT \(limit)
            """,
            as: { try $0.string("other") }
        )
    }

    /// Everybody's, in the order of the primary key.
    func all(after last: ListedBlock, limit: Int) async throws -> [ListedBlock] {
        try await db.all(
            """
            SELECT application_id, user_id, blocked_id FROM blocks
            WHERE (application_id, user_id, blocked_id) > (\(last.applicationId), \(last.userId), \(last.blockedId))
            ORDER BY application_id, user_id, blocked_id LIMIT \(limit)
            """
        ) { row in
            ListedBlock(
                applicationId: try row.string("application_id"),
                userId: try row.string("user_id"),
                blockedId: try row.string("blocked_id")
            )
        }
    }

    /// Those of `others` whom a user has blocked or who have blocked him.
    func blockedPeers(from user: User.ID, among others: [String]) async throws -> [User.ID] {
        try await db.all(
            """
            SELECT blocked_id AS other FROM blocks
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND blocked_id = ANY (\(others))
            UNION
            SELECT user_id FROM blocks
            WHERE application_id = \(user.application) AND blocked_id = \(user.user) AND user_id = ANY (\(others))
            """,
            as: { User.ID(application: user.application, user: try $0.string("other")) }
        )
    }
}

extension Block {
    fileprivate init(row: PostgresRow) throws {
        self.init(userId: try row.string("blocked_id"), blockedAt: try row.date("blocked_at"))
    }
}
