import Foundation
import Postgres
import Wire

/// The table `follow_imports`: when the follows of each user are imported next.
struct FollowImportStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Claims users with a Reddit account whose import is due, until `next`.
    func claim(limit: Int, at now: Date, next: Date) async throws -> [User.ID] {
        try await db.all(
            """
            INSERT INTO follow_imports AS existing (application_id, user_id, due_at)
            SELECT application_id, user_id, \(next)
            FROM accounts LEFT JOIN follow_imports AS imports USING (application_id, user_id)
            WHERE network = 'reddit' AND state <> 'reauthenticate' AND (imports.due_at IS NULL OR imports.due_at <= \(now))
            LIMIT \(limit)
            ON CONFLICT ON CONSTRAINT follow_imports_pkey DO UPDATE SET due_at = excluded.due_at
            WHERE existing.due_at <= \(now)
            RETURNING application_id, user_id
            """,
            as: { User.ID(application: try $0.string("application_id"), user: try $0.string("user_id")) }
        )
    }

    /// Sets when a user's follows are imported next.
    func postpone(_ user: User.ID, until next: Date) async throws {
        try await db.run(
            """
            INSERT INTO follow_imports (application_id, user_id, due_at)
            VALUES (\(user.application), \(user.user), \(next))
            ON CONFLICT ON CONSTRAINT follow_imports_pkey DO UPDATE SET due_at = excluded.due_at
            """
        )
    }

    func delete(_ user: User.ID) async throws {
        try await db.run(
            "DELETE FROM follow_imports WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}
