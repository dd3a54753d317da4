import Foundation
import Postgres
import Wire

/// The table `people`: users who have used photos (`has_visited`), and users named by an event of another service.
struct PeopleStore<Executor: PostgresExecutor> {
    let db: Executor

    func find(_ user: User.ID) async throws -> Person? {
        try await db.first(
            """
            SELECT \(unsafe: Person.columns) FROM people
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND has_visited
            """,
            as: Person.init(row:)
        )
    }

    /// Inserts a user, or completes a row created by ``ensureRow(_:)``; returns nil if the user has already used
    /// photos.
    func insert(_ user: User.ID, named name: String) async throws -> Person? {
        try await db.first(
            """
            INSERT INTO people (application_id, user_id, full_name, created_at)
            VALUES (\(user.application), \(user.user), \(name), clock_timestamp())
            ON CONFLICT ON CONSTRAINT people_user_key DO UPDATE
            SET full_name = excluded.full_name, created_at = excluded.created_at, has_visited = true
            WHERE NOT people.has_visited
            RETURNING \(unsafe: Person.columns)
            """,
            as: Person.init(row:)
        )
    }

    /// Returns the id of a user, and creates a row for a user who has never used photos.
    func ensureRow(_ user: User.ID) async throws -> Person.ID {
        try await db.run(
            """
            INSERT INTO people (application_id, user_id, full_name, created_at, has_visited)
            VALUES (\(user.application), \(user.user), '', clock_timestamp(), false)
            ON CONFLICT ON CONSTRAINT people_user_key DO NOTHING
            """
        )
        return try await db.one(
            "SELECT person_id FROM people WHERE application_id = \(user.application) AND user_id = \(user.user)",
            as: { try $0.decode("person_id") }
        )
    }

    /// Locks a user's row until the transaction ends; returns nil if the user was deleted.
    func lock(_ person: Person.ID) async throws -> (person: Person, isSearchable: Bool)? {
        try await db.first(
            """
            SELECT \(unsafe: Person.columns), searchable FROM people WHERE person_id = \(person) FOR NO KEY UPDATE
            """,
            as: { (try Person(row: $0), try $0.bool("searchable")) }
        )
    }

    func isSearchable(_ person: Person.ID) async throws -> Bool? {
        try await db.first(
            "SELECT searchable FROM people WHERE person_id = \(person)",
            as: { try $0.bool("searchable") }
        )
    }

    func set(searchable: Bool, _ person: Person.ID) async throws {
        try await db.run("UPDATE people SET searchable = \(searchable) WHERE person_id = \(person)")
    }

    /// Sets the values that are not nil.
    func set(name: String?, bio: String?, of person: Person.ID) async throws {
        try await db.run(
            """
            UPDATE people SET full_name = coalesce(\(name), full_name), bio = coalesce(\(bio), bio)
            WHERE person_id = \(person)
            """
        )
    }

    /// Sets or removes the avatar; `picture` is a path below `/media/`.
    func set(picture: String?, of person: Person.ID) async throws {
        try await db.run("UPDATE people SET picture_url = \(picture) WHERE person_id = \(person)")
    }
}
