import Foundation
import Postgres
import Wire

/// The table `pictures_to_bring`.
struct PictureWishStore<Executor: PostgresExecutor> {
    let db: Executor

    /// A picture that is to be brought.
    struct Wish: Sendable {
        var person: Person.ID
        var url: String
        /// How often it was tried, this time included.
        var attempts: Int
    }

    /// Due at once for who has been seen; nothing for who has a picture.
    func insert(_ url: String, of person: Person.ID) async throws {
        try await db.run(
            """
            INSERT INTO pictures_to_bring (person_id, url, due_at)
            SELECT person_id, \(url), CASE WHEN is_seen THEN clock_timestamp() ELSE 'infinity' END
            FROM people
            WHERE person_id = \(person) AND picture_url IS NULL
            ON CONFLICT (person_id) DO UPDATE
            SET url = excluded.url, attempts = 0, due_at = excluded.due_at
            """
        )
    }

    /// Somebody is seen for the first time.
    func wake(_ person: Person.ID) async throws {
        try await db.run("UPDATE pictures_to_bring SET due_at = clock_timestamp() WHERE person_id = \(person)")
    }

    /// Takes those that are due, and has them due again in five minutes in case nobody tells how it went.
    func take(_ limit: Int) async throws -> [Wish] {
        try await db.all(
            """
            UPDATE pictures_to_bring
            SET attempts = attempts + 1, due_at = clock_timestamp() + interval '5 minutes'
            WHERE person_id IN (
                SELECT person_id FROM pictures_to_bring
                WHERE due_at <= clock_timestamp()
                ORDER BY due_at
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            RETURNING person_id, url, attempts
            """,
            as: { row in
                Wish(
                    person: try row.decode("person_id"),
                    url: try row.string("url"),
                    attempts: try row.int("attempts")
                )
            }
        )
    }

    func delete(of person: Person.ID) async throws {
        try await db.run("DELETE FROM pictures_to_bring WHERE person_id = \(person)")
    }
}
