import Foundation
import Postgres

/// The table `refresh_tokens`.
///
/// Whoever writes to a session's tokens has locked the session.
struct RefreshTokenStore {
    let db: any PostgresExecutor

    /// What is remembered of a token.
    struct Record: Sendable {
        var usedAt: Date?
        /// When the first of the tokens given for it was used.
        var successorUsedAt: Date?
    }

    func insert(_ hash: Data, in session: UUID, givenFor parent: Data?, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO refresh_tokens (session_id, hash, parent, issued_at)
            VALUES (\(session), \(hash), \(parent), \(now))
            """
        )
    }

    func find(_ hash: Data, in session: UUID) async throws -> Record? {
        try await db.first(
            """
            SELECT used_at, successor_used_at
            FROM refresh_tokens
            WHERE session_id = \(session) AND hash = \(hash)
            """
        ) { row in
            Record(
                usedAt: try row.optionalDate("used_at"),
                successorUsedAt: try row.optionalDate("successor_used_at")
            )
        }
    }

    /// Notes the first use of a token, on it and on the token it was given for.
    func markUsed(_ hash: Data, in session: UUID, at now: Date) async throws {
        try await db.run(
            """
            WITH token AS (
                UPDATE refresh_tokens SET used_at = \(now)
                WHERE session_id = \(session) AND hash = \(hash)
                RETURNING parent
            )
            UPDATE refresh_tokens SET successor_used_at = \(now)
            FROM token
            WHERE refresh_tokens.session_id = \(session) AND refresh_tokens.hash = token.parent
                AND refresh_tokens.successor_used_at IS NULL
            """
        )
    }

    /// Forgets the tokens that will never be taken again, and the oldest unused ones beyond `maximumUnused`.
    func prune(_ session: UUID, successorUsedBefore: Date, maximumUnused: Int) async throws {
        try await db.run(
            """
            DELETE FROM refresh_tokens
            WHERE session_id = \(session) AND (
                successor_used_at < \(successorUsedBefore)
                OR hash IN (
                    SELECT hash FROM refresh_tokens
                    WHERE session_id = \(session) AND used_at IS NULL
                    ORDER BY issued_at DESC, hash
                    OFFSET \(maximumUnused)
                )
            )
            """
        )
    }
}
