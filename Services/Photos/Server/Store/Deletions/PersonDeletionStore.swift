import Foundation
import Postgres
import ServiceHost
import Wire

/// The table `person_deletions`, and the rows of deleted users in tables of people.
///
/// Each method is idempotent; those with a limit are called until nothing is left.
struct PersonDeletionStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Removes a user's name, avatar and search names, and starts the deletion; returns nil for an unknown user.
    ///
    /// The row gets a user id longer than any valid one, so that a new user with the old id gets a new row.
    func insert(_ user: User.ID, at moment: Date) async throws -> Person.ID? {
        try await db.first(
            """
            WITH deleted AS (
                UPDATE people
                SET user_id = rpad('deleted ' || person_id, 300, '.'), full_name = '', picture_url = NULL, bio = '',
                    searchable = false
                WHERE application_id = \(user.application) AND user_id = \(user.user)
                RETURNING person_id
            ), removed_names AS (
                DELETE FROM people_names USING deleted WHERE people_names.person_id = deleted.person_id
            )
            INSERT INTO person_deletions (person_id, deleted_at) SELECT person_id, \(moment) FROM deleted
            RETURNING person_id
            """,
            as: { try $0.decode("person_id") }
        )
    }

    /// The tables that have rows of an application but no reference to a user.
    static var tables: [String] {
        [
            "post_hashtags", "hashtags", "flagged_items", "pending_changes", "changes", "change_counters",
            "block_backfill_events",
        ]
    }

    /// Starts the deletion of up to `limit` users of an application, like ``insert(_:at:)``; returns how many.
    func insert(allOf application: String, at moment: Date, limit: Int) async throws -> Int {
        try await db.all(
            """
            WITH chosen AS (
                SELECT person_id FROM people
                WHERE application_id = \(application)
                    AND NOT EXISTS (SELECT FROM person_deletions WHERE person_deletions.person_id = people.person_id)
                ORDER BY person_id
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            ), deleted AS (
                UPDATE people
                SET user_id = rpad('deleted ' || people.person_id, 300, '.'), full_name = '', picture_url = NULL,
                    bio = '', searchable = false
                FROM chosen WHERE people.person_id = chosen.person_id
                RETURNING people.person_id
            ), removed_names AS (
                DELETE FROM people_names USING deleted WHERE people_names.person_id = deleted.person_id
            ), removed_imports AS (
                DELETE FROM avatar_imports USING deleted WHERE avatar_imports.person_id = deleted.person_id
            )
            INSERT INTO person_deletions (person_id, deleted_at) SELECT person_id, \(moment) FROM deleted
            RETURNING person_id
            """,
            as: { try $0.int64("person_id") }
        ).count
    }

    /// Returns whether nothing is left of the users of a deleted application.
    ///
    /// Deleted posts and files contain only the number of a person, not the application. So this waits for those of the
    /// deleted users of all applications.
    func isDeleted(_ application: String) async throws -> Bool {
        try await db.one(
            """
            SELECT NOT EXISTS (SELECT FROM people WHERE application_id = \(application))
                AND NOT EXISTS (SELECT FROM posts WHERE application_id = \(application))
                AND NOT EXISTS (
                    SELECT FROM deleted_posts
                    WHERE NOT EXISTS (SELECT FROM people WHERE people.person_id = deleted_posts.author_id)
                )
                AND NOT EXISTS (
                    SELECT FROM blobs
                    WHERE blobs.due_at IS NOT NULL
                        AND NOT EXISTS (SELECT FROM people WHERE people.person_id = blobs.owner_id)
                ) AS is_deleted
            """,
            as: { try $0.bool("is_deleted") }
        )
    }

    func hasRemainingData(_ person: Person.ID) async throws -> Bool {
        try await db.one(
            """
            SELECT EXISTS (SELECT FROM person_deletions WHERE person_id = \(person))
                OR EXISTS (SELECT FROM deleted_posts WHERE author_id = \(person))
                OR EXISTS (SELECT FROM blobs WHERE owner_id = \(person)) AS has_data
            """,
            as: { try $0.bool("has_data") }
        )
    }

    func next(at now: Date) async throws -> Person.ID? {
        try await db.first(
            """
            SELECT person_id FROM person_deletions WHERE \(isDue: .personDeletion, at: now)
            ORDER BY deleted_at, person_id LIMIT 1
            """,
            as: { try $0.decode("person_id") }
        )
    }

    /// Returns followers of the person and users that the person follows.
    func followed(by person: Person.ID, limit: Int) async throws -> [Person.ID] {
        try await db.all(
            """
            (SELECT followee_id AS other FROM follows WHERE follower_id = \(person) LIMIT \(limit))
            UNION
            (SELECT follower_id FROM follows WHERE followee_id = \(person) LIMIT \(limit))
            """,
            as: { try $0.decode("other") }
        )
    }

    /// Deletes the remaining rows of the person: blocks, activity, the home feed and the person's own row.
    func remove(_ person: Person.ID) async throws {
        for (table, column) in [
            ("blocks", "blocker_id"), ("blocks", "blocked_id"), ("activities", "actor_id"),
            ("activity_groups", "recipient_id"),
            ("feed", "owner_id"), ("people", "person_id"),
        ] {
            try await db.run("DELETE FROM \(identifier: table) WHERE \(identifier: column) = \(person)")
        }
    }
}

extension SetAsideKind {
    static let personDeletion = SetAsideKind(
        "account_deletion",
        table: "person_deletions",
        key: ["person_id": "bigint"],
        dropping: .keep
    )
}
