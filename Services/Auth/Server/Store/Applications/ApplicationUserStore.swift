import AuthAPI
import Foundation
import Postgres
import Wire

/// The table `application_users`.
struct ApplicationUserStore {
    let db: any PostgresExecutor

    func record(_ user: User.ID, signedInAt now: Date) async throws {
        try await db.run(
            """
            INSERT INTO application_users (application_id, user_id, first_signed_in_at, last_signed_in_at)
            VALUES (\(user.application), \(user.user), \(now), \(now))
            ON CONFLICT (application_id, user_id) DO UPDATE
            SET last_signed_in_at = greatest(application_users.last_signed_in_at, excluded.last_signed_in_at)
            """
        )
    }

    /// Returns the users whose ids begin with `prefix`, in the order of their ids.
    func list(of application: String, prefix: String, after: String, limit: Int) async throws -> [ApplicationUser] {
        // The upper bound is the prefix with the last code point appended. It makes PostgreSQL read only the matching
        // range of the index.
        try await db.all(
            """
            SELECT user_id, first_signed_in_at, last_signed_in_at FROM application_users
            WHERE application_id = \(application) AND user_id > \(after)
                AND user_id >= \(prefix) AND user_id < \(prefix + "\u{10FFFF}")
            ORDER BY user_id
            LIMIT \(limit)
            """
        ) { row in
            ApplicationUser(
                userId: try row.string("user_id"),
                firstSignedInAt: try row.date("first_signed_in_at"),
                lastSignedInAt: try row.date("last_signed_in_at")
            )
        }
    }

    func delete(_ user: User.ID) async throws {
        try await db.run(
            "DELETE FROM application_users WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}
