import Postgres
import Wire

struct BlockStore<Executor: PostgresExecutor> {
    let db: Executor

    func insert(_ blocker: Person.ID, _ blocked: Person.ID) async throws {
        try await db.run(
            "INSERT INTO blocks (blocker_id, blocked_id) VALUES (\(blocker), \(blocked)) ON CONFLICT DO NOTHING"
        )
    }

    func delete(_ blocker: Person.ID, _ blocked: Person.ID) async throws {
        try await db.run("DELETE FROM blocks WHERE blocker_id = \(blocker) AND blocked_id = \(blocked)")
    }

    func existsBetween(_ first: Person.ID, _ second: Person.ID) async throws -> Bool {
        try await db.one(
            """
            SELECT EXISTS (SELECT FROM blocks WHERE blocker_id = \(first) AND blocked_id = \(second))
                OR EXISTS (SELECT FROM blocks WHERE blocker_id = \(second) AND blocked_id = \(first)) AS is_blocked
            """,
            as: { try $0.bool("is_blocked") }
        )
    }

    func delete(of person: Person.ID) async throws {
        try await db.run("DELETE FROM blocks WHERE blocker_id = \(person) OR blocked_id = \(person)")
    }
}
