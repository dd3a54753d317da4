import Foundation
import Postgres
import Wire

struct AvatarImportStore<Executor: PostgresExecutor> {
    let db: Executor

    struct PendingImport: Sendable {
        var person: Person.ID
        var url: String
        /// The number of attempts, including this one.
        var attempts: Int
    }

    /// Records an avatar to import, due at once if the user has used photos; does nothing if the user has a picture.
    func insert(_ url: String, of person: Person.ID) async throws {
        try await db.run(
            """
            INSERT INTO avatar_imports (person_id, url, due_at)
            SELECT person_id, \(url), CASE WHEN has_visited THEN clock_timestamp() ELSE 'infinity' END
            FROM people
            WHERE person_id = \(person) AND picture_url IS NULL
            ON CONFLICT (person_id) DO UPDATE
            SET url = excluded.url, attempts = 0, due_at = excluded.due_at
            """
        )
    }

    func makeDue(_ person: Person.ID) async throws {
        try await db.run("UPDATE avatar_imports SET due_at = clock_timestamp() WHERE person_id = \(person)")
    }

    /// Claims due imports, and makes them due again in five minutes in case the worker crashes.
    func claim(_ limit: Int) async throws -> [PendingImport] {
        try await db.all(
            """
            UPDATE avatar_imports
            SET attempts = attempts + 1, due_at = clock_timestamp() + interval '5 minutes'
            WHERE person_id IN (
                SELECT person_id FROM avatar_imports
                WHERE due_at <= clock_timestamp()
                ORDER BY due_at
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            RETURNING person_id, url, attempts
            """,
            as: { row in
                PendingImport(
                    person: try row.decode("person_id"),
                    url: try row.string("url"),
                    attempts: try row.int("attempts")
                )
            }
        )
    }

    func delete(of person: Person.ID) async throws {
        try await db.run("DELETE FROM avatar_imports WHERE person_id = \(person)")
    }
}
