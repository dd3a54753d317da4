import Foundation
import Postgres
import Wire

/// The table `people`: everybody who was ever seen here.
struct PeopleStore<Executor: PostgresExecutor> {
    let db: Executor

    func find(_ user: User.ID) async throws -> Person? {
        try await db.first(
            """
            SELECT \(unsafe: Person.columns) FROM people
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """,
            as: Person.init(row:)
        )
    }

    /// As the other, but not one whom a block keeps apart from the viewer.
    func find(_ user: User.ID, seenBy viewer: Person.ID) async throws -> Person? {
        try await db.first(
            """
            SELECT \(unsafe: Person.columns) FROM people
            WHERE application_id = \(user.application) AND user_id = \(user.user)
                AND \(unblocked: "people.person_id", by: viewer)
            """,
            as: Person.init(row:)
        )
    }

    /// Makes somebody who is not there yet; who is stays as he is.
    func insert(_ user: User.ID, named name: String) async throws {
        try await db.run(
            """
            INSERT INTO people (application_id, user_id, full_name, created_at)
            VALUES (\(user.application), \(user.user), \(name), clock_timestamp())
            ON CONFLICT ON CONSTRAINT people_user_key DO NOTHING
            """
        )
    }
}
