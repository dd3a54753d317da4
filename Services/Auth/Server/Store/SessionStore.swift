import AuthAPI
import Foundation
import Postgres
import Wire

/// The table `sessions`.
struct SessionStore {
    let db: any PostgresExecutor

    /// A session as the server knows it.
    struct Record: Sendable {
        var id: UUID
        var user: User.ID
        var deviceID: String?
        var userAgent: String?
        var createdAt: Date
        var lastSeenAt: Date
        var expiresAt: Date
    }

    /// A place in the list of one's sessions, which is newest first.
    struct Position: Sendable {
        var createdAt: Date
        var id: UUID
    }

    func insert(_ session: Record) async throws {
        try await db.run(
            """
            INSERT INTO sessions (
                session_id, application, user_id, device_id, user_agent, created_at, last_seen_at, expires_at
            )
            VALUES (
                \(session.id), \(session.user.application), \(session.user.user), \(session.deviceID),
                \(session.userAgent), \(session.createdAt), \(session.lastSeenAt), \(session.expiresAt)
            )
            """
        )
    }

    /// Keeps everyone else from the session until the transaction ends.
    func lock(_ id: UUID) async throws -> Record? {
        try await db.first(
            """
            SELECT session_id, application, user_id, device_id, user_agent, created_at, last_seen_at, expires_at
            FROM sessions
            WHERE session_id = \(id)
            FOR UPDATE
            """,
            as: Record.init(row:)
        )
    }

    /// A user's sessions that can still be refreshed, newest first.
    func list(of user: User.ID, seenSince: Date, now: Date, after: Position?, limit: Int) async throws -> [Record] {
        try await db.all(
            """
            SELECT session_id, application, user_id, device_id, user_agent, created_at, last_seen_at, expires_at
            FROM sessions
            WHERE application = \(user.application) AND user_id = \(user.user)
                AND last_seen_at > \(seenSince) AND expires_at > \(now)
                AND (\(after?.createdAt) IS NULL OR (created_at, session_id) < (\(after?.createdAt), \(after?.id)))
            ORDER BY created_at DESC, session_id DESC
            LIMIT \(limit)
            """,
            as: Record.init(row:)
        )
    }

    /// Forgets sessions that cannot be refreshed any more, and their refresh tokens with them.
    func deleteExpired(seenBefore: Date, now: Date) async throws -> Int {
        try await db.run("DELETE FROM sessions WHERE last_seen_at <= \(seenBefore) OR expires_at <= \(now)")
    }
}

extension SessionStore.Record {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.uuid("session_id"),
            user: User.ID(application: try row.string("application"), user: try row.string("user_id")),
            deviceID: try row.optionalString("device_id"),
            userAgent: try row.optionalString("user_agent"),
            createdAt: try row.date("created_at"),
            lastSeenAt: try row.date("last_seen_at"),
            expiresAt: try row.date("expires_at")
        )
    }
}
