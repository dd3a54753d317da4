import Foundation
import Postgres

/// The table `ended_sessions`.
struct EndedSessionStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Until the transaction ends, nobody else registers in this session, or ends it.
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
