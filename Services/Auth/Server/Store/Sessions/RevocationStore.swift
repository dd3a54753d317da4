import Credentials
import Foundation
import Postgres
import Wire

/// The table `revocations`; one statement deletes a session and inserts its revocation.
struct RevocationStore {
    let db: any PostgresExecutor

    struct Record: Sendable {
        var serial: Int64
        var session: UUID
        var revokedAt: Date
        /// The token's hash, for a session of a customer's application.
        var tokenHash: Data?
    }

    struct Ended: Sendable {
        var record: Record
        var user: User.ID
        var deviceID: String?
    }

    /// Ends sessions, only those of `user` if given; sessions that no longer exist are skipped.
    ///
    /// Callers that end several sessions must have locked them.
    func end(_ sessions: [UUID], of user: User.ID? = nil, at now: Date) async throws -> [Ended] {
        try await db.all(
            """
            WITH ended AS (
                DELETE FROM sessions
                WHERE session_id = ANY(\(sessions))
                    AND (\(user?.application) IS NULL
                        OR (application = \(user?.application) AND user_id = \(user?.user)))
                RETURNING session_id, application, user_id, device_id, token_hash
            ), inserted AS (
                INSERT INTO revocations (session_id, revoked_at, token_hash)
                SELECT session_id, \(now), token_hash FROM ended
                RETURNING serial, session_id, revoked_at, token_hash
            )
            SELECT serial, session_id, revoked_at, inserted.token_hash, application, user_id, device_id
            FROM inserted JOIN ended USING (session_id)
            """
        ) { row in
            Ended(
                record: try Record(row: row),
                user: User.ID(application: try row.string("application"), user: try row.string("user_id")),
                deviceID: try row.optionalString("device_id")
            )
        }
    }

    /// Inserts a revocation of something other than a session, such as an application key.
    func insert(_ session: UUID, at now: Date) async throws -> Record {
        try await db.one(
            """
            INSERT INTO revocations (session_id, revoked_at) VALUES (\(session), \(now))
            RETURNING serial, session_id, revoked_at, token_hash
            """,
            as: Record.init(row:)
        )
    }

    func list(after serial: Int64, orSince date: Date) async throws -> [Record] {
        try await db.all(
            """
            SELECT serial, session_id, revoked_at, token_hash
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
            revokedAt: try row.date("revoked_at"),
            tokenHash: try row.decode("token_hash", as: Data?.self)
        )
    }
}
