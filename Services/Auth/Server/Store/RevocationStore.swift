import Credentials
import Foundation
import Postgres
import Wire

/// The table `revocations`; a session that ends gets its row in the same statement.
struct RevocationStore {
    let db: any PostgresExecutor

    /// A session's end.
    struct Record: Sendable {
        var serial: Int64
        var session: UUID
        var revokedAt: Date
    }

    /// Ends one session, of `user` if one is given; empty if there is none.
    func end(_ session: UUID, of user: User.ID?, at now: Date) async throws -> [Record] {
        try await db.all(
            """
            WITH ended AS (
                DELETE FROM sessions
                WHERE session_id = \(session)
                    AND (\(user?.application) IS NULL
                        OR (application = \(user?.application) AND user_id = \(user?.user)))
                RETURNING session_id
            )
            INSERT INTO revocations (session_id, revoked_at)
            SELECT session_id, \(now) FROM ended
            RETURNING serial, session_id, revoked_at
            """,
            as: Record.init(row:)
        )
    }

    /// Ends a user's sessions, all but one.
    func endAll(of user: User.ID, but kept: UUID, at now: Date) async throws -> [Record] {
        try await db.all(
            """
            WITH ended AS (
                DELETE FROM sessions
                WHERE session_id IN (
                    SELECT session_id FROM sessions
                    WHERE application = \(user.application) AND user_id = \(user.user) AND session_id <> \(kept)
                    ORDER BY session_id
                    FOR UPDATE
                )
                RETURNING session_id
            )
            INSERT INTO revocations (session_id, revoked_at)
            SELECT session_id, \(now) FROM ended
            RETURNING serial, session_id, revoked_at
            """,
            as: Record.init(row:)
        )
    }

    func list(after serial: Int64, orSince date: Date) async throws -> [Record] {
        try await db.all(
            """
            SELECT serial, session_id, revoked_at
            FROM revocations
            WHERE serial > \(serial) OR revoked_at > \(date)
            ORDER BY serial
            """,
            as: Record.init(row:)
        )
    }

    func delete(before date: Date) async throws -> Int {
        try await db.run("DELETE FROM revocations WHERE revoked_at <= \(date)")
    }
}

extension RevocationStore.Record {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            serial: try row.int64("serial"),
            session: try row.uuid("session_id"),
            revokedAt: try row.date("revoked_at")
        )
    }
}
