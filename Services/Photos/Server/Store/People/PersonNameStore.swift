import Postgres
import Wire

struct PersonNameStore<Executor: PostgresExecutor> {
    let db: Executor

    func insert(_ names: [String], of person: Person) async throws {
        try await db.run(
            """
            INSERT INTO people_names (application_id, name, person_id)
            SELECT \(person.user.application), name, \(person.id) FROM unnest(\(names)) AS given (name)
            """
        )
    }

    func delete(of person: Person.ID) async throws {
        try await db.run("DELETE FROM people_names WHERE person_id = \(person)")
    }
}
