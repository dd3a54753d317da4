import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The table `sessions`.
struct SessionStore {
    let db: any PostgresExecutor

    struct Record: Sendable {
        var id: UUID
        var user: User.ID
        var deviceID: String?
        var platform: String?
        var pushToken: String?
        var userAgent: String?
        var createdAt: Date
        var lastSeenAt: Date
        var expiresAt: Date
        /// The session's own token, for a session of a customer's application.
        var token: Token?
    }

    struct Token: Sendable {
        var hash: Data
        /// The application's key that signed the login token.
        var keyID: String
    }

    /// An expired session that was deleted.
    struct Deleted: Sendable {
        var id: UUID
        var user: User.ID
        var deviceID: String?
    }

    /// A position in the list of a user's sessions, which is newest first.
    struct Position: Sendable {
        var createdAt: Date
        var id: UUID
    }

    func insert(_ session: Record) async throws {
        try await db.run(
            """
            INSERT INTO sessions (
                session_id, application, user_id, device_id, platform, push_token, user_agent, created_at,
                last_seen_at, expires_at, token_hash, key_id
            )
            VALUES (
                \(session.id), \(session.user.application), \(session.user.user), \(session.deviceID),
                \(session.platform), \(session.pushToken), \(session.userAgent), \(session.createdAt),
                \(session.lastSeenAt), \(session.expiresAt), \(session.token?.hash), \(session.token?.keyID)
            )
            """
        )
    }

    /// Locks a session exclusively until the transaction ends.
    func lock(_ id: UUID) async throws -> Record? {
        try await db.first(
            """
            SELECT session_id, application, user_id, device_id, platform, user_agent, created_at, last_seen_at,
                expires_at
            FROM sessions
            WHERE session_id = \(id)
            FOR UPDATE
            """,
            as: Record.init(row:)
        )
    }

    /// Returns the sign-in time of a session; nil if it has ended.
    func signedInAt(_ id: UUID, of user: User.ID) async throws -> Date? {
        try await db.first(
            """
            SELECT created_at FROM sessions
            WHERE session_id = \(id) AND application = \(user.application) AND user_id = \(user.user)
            """
        ) { try $0.date("created_at") }
    }

    /// Returns a user's active sessions, newest first.
    func list(of user: User.ID, seenSince: Date, now: Date, after: Position?, limit: Int) async throws -> [Record] {
        try await db.all(
            """
            SELECT session_id, application, user_id, device_id, platform, user_agent, created_at, last_seen_at,
                expires_at
            FROM sessions
            WHERE application = \(user.application) AND user_id = \(user.user)
                AND (last_seen_at > \(seenSince) OR token_hash IS NOT NULL) AND expires_at > \(now)
                AND (\(after?.createdAt) IS NULL OR (created_at, session_id) < (\(after?.createdAt), \(after?.id)))
            ORDER BY created_at DESC, session_id DESC
            LIMIT \(limit)
            """,
            as: Record.init(row:)
        )
    }

    /// Locks up to `limit` expired sessions.
    func lockExpired(seenBefore: Date, now: Date, limit: Int) async throws -> [UUID] {
        try await db.all(
            """
            SELECT session_id FROM sessions
            WHERE (last_seen_at <= \(seenBefore) AND token_hash IS NULL) OR expires_at <= \(now)
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
            """
        ) { try $0.uuid("session_id") }
    }

    /// Deletes sessions and their refresh tokens.
    func delete(_ sessions: [UUID]) async throws -> [Deleted] {
        try await db.all(
            """
            DELETE FROM sessions WHERE session_id = ANY(\(sessions))
            RETURNING session_id, application, user_id, device_id
            """
        ) { row in
            Deleted(
                id: try row.uuid("session_id"),
                user: User.ID(application: try row.string("application"), user: try row.string("user_id")),
                deviceID: try row.optionalString("device_id")
            )
        }
    }

    /// Locks all sessions of a user, except the given one.
    func lock(of user: User.ID, except session: UUID? = nil) async throws -> [UUID] {
        try await db.all(
            """
            SELECT session_id FROM sessions
            WHERE application = \(user.application) AND user_id = \(user.user)
                AND (\(session) IS NULL OR session_id <> \(session))
            ORDER BY session_id
            FOR UPDATE
            """
        ) { try $0.uuid("session_id") }
    }

    /// Locks the user against new sessions until the transaction ends, and locks the sessions beyond the `count` most
    /// recently used ones, at most `limit`.
    func lockSurplus(of user: User.ID, keeping count: Int, limit: Int) async throws -> [UUID] {
        let name = "sessions of\n\(user.application)\n\(user.user)"
        try await db.run("SELECT pg_advisory_xact_lock(hashtextextended(\(name), 0))")
        return try await db.all(
            """
            SELECT session_id FROM sessions
            WHERE session_id IN (
                SELECT session_id FROM sessions
                WHERE application = \(user.application) AND user_id = \(user.user)
                ORDER BY last_seen_at DESC, session_id DESC
                OFFSET \(count) LIMIT \(limit)
            )
            ORDER BY session_id
            FOR UPDATE
            """
        ) { try $0.uuid("session_id") }
    }

    /// Locks up to `limit` sessions that were opened with a key of an application.
    func lock(openedBy key: String, of application: String, limit: Int) async throws -> [UUID] {
        try await db.all(
            """
            SELECT session_id FROM sessions
            WHERE application = \(application) AND key_id = \(key)
            ORDER BY session_id
            LIMIT \(limit)
            FOR UPDATE
            """
        ) { try $0.uuid("session_id") }
    }

    /// Locks up to `limit` sessions of an application.
    func lock(ofApplication application: String, limit: Int) async throws -> [UUID] {
        try await db.all(
            """
            WITH chosen AS MATERIALIZED (
                SELECT session_id FROM sessions
                WHERE application = \(application) AND key_id IS NOT NULL
                LIMIT \(limit)
            )
            SELECT sessions.session_id FROM sessions
            JOIN chosen ON chosen.session_id = sessions.session_id
            ORDER BY sessions.session_id
            FOR UPDATE OF sessions
            """
        ) { try $0.uuid("session_id") }
    }

    /// Locks the session of a customer's user on a device, and prevents new sessions there until the transaction ends.
    func lock(of user: User.ID, on device: DeviceID) async throws -> [UUID] {
        let name = "\(user.application)\n\(user.user)\n\(device.text)"
        try await db.run("SELECT pg_advisory_xact_lock(hashtextextended(\(name), 0))")
        return try await db.all(
            """
            SELECT session_id FROM sessions
            WHERE application = \(user.application) AND user_id = \(user.user) AND device_id = \(device.text)
                AND token_hash IS NOT NULL
            FOR UPDATE
            """
        ) { try $0.uuid("session_id") }
    }

    /// Returns those of the users that have a session in the application.
    func users(among ids: [String], of application: String, now: Date) async throws -> [String] {
        try await db.all(
            """
            SELECT DISTINCT user_id FROM sessions
            WHERE application = \(application) AND user_id = ANY (\(ids)) AND expires_at > \(now)
            """
        ) { try $0.string("user_id") }
    }

    /// Returns the sessions with tokens of these hashes; expired sessions may be included.
    func sessions(withTokenHashes hashes: [Data]) async throws -> [KnownSession] {
        try await db.all(
            """
            SELECT token_hash, session_id, application, user_id, device_id, expires_at, platform, push_token
            FROM sessions
            WHERE token_hash = ANY(\(hashes))
            """
        ) { row in
            KnownSession(
                tokenHash: Base64URL.encode(try row.bytes("token_hash")),
                sessionId: try row.uuid("session_id").wire,
                applicationId: try row.string("application"),
                userId: try row.string("user_id"),
                deviceId: try row.optionalString("device_id"),
                expiresAt: try row.date("expires_at"),
                platform: try row.optionalString("platform"),
                pushToken: try row.optionalString("push_token")
            )
        }
    }
}

extension SessionStore.Record {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.uuid("session_id"),
            user: User.ID(application: try row.string("application"), user: try row.string("user_id")),
            deviceID: try row.optionalString("device_id"),
            platform: try row.optionalString("platform"),
            userAgent: try row.optionalString("user_agent"),
            createdAt: try row.date("created_at"),
            lastSeenAt: try row.date("last_seen_at"),
            expiresAt: try row.date("expires_at")
        )
    }
}
