import Foundation
import Postgres
import Wire

/// The table `profiles`: the names and pictures of users, as other services published them.
struct ProfileStore<Executor: PostgresExecutor> {
    struct Stored: Sendable {
        let user: String
        let name: String?
        let avatarPath: String?
    }

    let db: Executor

    func find(_ users: [String], of application: String) async throws -> [Stored] {
        try await db.all(
            """
            SELECT user_id, full_name, avatar_path FROM profiles
            WHERE application_id = \(application) AND user_id = ANY (\(users))
            """,
            as: { row in
                Stored(
                    user: try row.string("user_id"),
                    name: try row.optionalString("full_name"),
                    avatarPath: try row.optionalString("avatar_path")
                )
            }
        )
    }

    /// Stores auth's response about users without a row; any event about them overrides it.
    ///
    /// A user who is deleted meanwhile gets no row.
    func insertMissing(_ names: [(user: String, name: String?)], of application: String) async throws {
        try await db.run(
            """
            INSERT INTO profiles (application_id, user_id, full_name)
            SELECT \(application), answered.user_id, answered.full_name
            FROM unnest(\(names.map(\.user)), \(names.map(\.name))) AS answered (user_id, full_name)
            JOIN users ON users.application_id = \(application) AND users.user_id = answered.user_id
            WHERE NOT EXISTS (
                SELECT FROM user_deletions
                WHERE user_deletions.application_id = \(application) AND user_deletions.user_id = answered.user_id
            )
            ORDER BY answered.user_id
            ON CONFLICT ON CONSTRAINT profiles_pkey DO NOTHING
            """
        )
    }

    /// Stores a name, unless a newer one is stored or the user is deleted.
    func set(name: String?, of user: User.ID, at moment: Date) async throws {
        try await set("full_name", to: name, "named_at", moment, of: user)
    }

    /// Stores the path of a picture, unless a newer one is stored or the user is deleted.
    func set(avatarPath: String?, of user: User.ID, at moment: Date) async throws {
        try await set("avatar_path", to: avatarPath, "pictured_at", moment, of: user)
    }

    private func set(
        _ column: String,
        to value: String?,
        _ time: String,
        _ moment: Date,
        of user: User.ID
    ) async throws {
        try await db.run(
            """
            INSERT INTO profiles AS stored (application_id, user_id, \(identifier: column), \(identifier: time))
            SELECT \(user.application), \(user.user), \(value), \(moment)
            WHERE NOT EXISTS (
                SELECT FROM user_deletions
                WHERE application_id = \(user.application) AND user_id = \(user.user) AND deleted_at >= \(moment)
            )
            ON CONFLICT ON CONSTRAINT profiles_pkey DO UPDATE
            SET \(identifier: column) = excluded.\(identifier: column), \(identifier: time) = excluded.\(identifier: time)
            WHERE stored.\(identifier: time) <= excluded.\(identifier: time)
            """
        )
    }

    /// Removes a profile whose values were all published up to `moment`.
    func delete(of user: User.ID, publishedBy moment: Date) async throws {
        try await db.run(
            """
            DELETE FROM profiles
            WHERE application_id = \(user.application) AND user_id = \(user.user)
                AND named_at <= \(moment) AND pictured_at <= \(moment)
            """
        )
    }
}
