import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `blocks`: the users that each user has blocked.
struct BlockStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns nil when the user was already blocked.
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

    /// Returns false when the user was not blocked.
    func delete(_ blocked: String, by user: User.ID) async throws -> Bool {
        try await db.run(
            """
            DELETE FROM blocks
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND blocked_id = \(blocked)
            """
        ) == 1
    }

    /// Returns the number of users that a user has blocked, counted up to `limit`.
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

    /// Returns the blocked users behind `last`, ordered by id.
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

    /// Returns the users that a block in either direction separates from a user, ordered by id, behind `last`.
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

    /// Returns the entries of all users, in the order of the primary key.
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

    /// Returns those of `others` that a block in either direction separates from a user.
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
