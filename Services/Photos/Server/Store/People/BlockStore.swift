import Postgres
import Wire

/// The table `blocks`: who does not want to see whom.
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

    /// Whether either of two people has blocked the other.
    func existsBetween(_ one: Person.ID, _ other: Person.ID) async throws -> Bool {
        try await db.one(
            """
            SELECT EXISTS (SELECT FROM blocks WHERE blocker_id = \(one) AND blocked_id = \(other))
                OR EXISTS (SELECT FROM blocks WHERE blocker_id = \(other) AND blocked_id = \(one)) AS is_blocked
            """,
            as: { try $0.bool("is_blocked") }
        )
    }

    /// All of somebody's, and all of him.
    func delete(of person: Person.ID) async throws {
        try await db.run("DELETE FROM blocks WHERE blocker_id = \(person) OR blocked_id = \(person)")
    }
}
