import Foundation
import Postgres

struct EndedSessionStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Blocks registrations in the session, and its end, until the transaction ends.
    func lock(_ session: String) async throws {
        try await db.run("SELECT pg_advisory_xact_lock(hashtextextended('push session ' || \(session), 0))")
    }

    func contains(_ session: String) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM ended_sessions WHERE session_id = \(session)) AS has_ended",
            as: { try $0.bool("has_ended") }
        )
    }

    func insert(_ session: String, at now: Date) async throws {
        try await db.run(
            "INSERT INTO ended_sessions (session_id, ended_at) VALUES (\(session), \(now)) ON CONFLICT DO NOTHING"
        )
    }

    func delete(endedBefore date: Date) async throws {
        try await db.run("DELETE FROM ended_sessions WHERE ended_at < \(date)")
    }
}
