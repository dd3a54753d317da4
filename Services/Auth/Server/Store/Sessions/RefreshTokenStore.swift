import Foundation
import Postgres

/// The table `refresh_tokens`.
///
/// Callers that write tokens must have locked the session.
struct RefreshTokenStore {
    let db: any PostgresExecutor

    struct Record: Sendable {
        var usedAt: Date?
        /// The first use of any successor of this token.
        var successorUsedAt: Date?
    }

    struct Prunable: Sendable {
        /// Used tokens whose first successor was used before this date: they can no longer be used.
        var successorUsedBefore: Date
        /// Unused tokens beyond this many newer unused ones.
        var unusedLimit: Int
    }

    /// Inserts the first token of a session.
    func insert(_ hash: Data, in session: UUID, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO refresh_tokens (session_id, hash, issued_at)
            VALUES (\(session), \(hash), \(now))
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

    /// Inserts `next` as a successor of a token, updates the session, and records the first use on the token and its
    /// parent.
    func use(
        _ hash: Data,
        issuing next: Data,
        in session: UUID,
        at now: Date,
        pruning: Prunable
    ) async throws {
        try await db.run(
            """
            WITH seen AS (
                UPDATE sessions SET last_seen_at = \(now) WHERE session_id = \(session)
            ), token AS (
                UPDATE refresh_tokens SET used_at = \(now)
                WHERE session_id = \(session) AND hash = \(hash) AND used_at IS NULL
                RETURNING parent
            ), parent AS (
                UPDATE refresh_tokens SET successor_used_at = \(now)
                FROM token
                WHERE refresh_tokens.session_id = \(session) AND refresh_tokens.hash = token.parent
                    AND refresh_tokens.successor_used_at IS NULL
            ), pruned AS (
                DELETE FROM refresh_tokens
                WHERE session_id = \(session) AND hash <> \(hash) AND (
                    successor_used_at < \(pruning.successorUsedBefore)
                    OR hash IN (
                        SELECT hash FROM refresh_tokens
                        WHERE session_id = \(session) AND used_at IS NULL
                        ORDER BY issued_at DESC, hash
                        OFFSET \(pruning.unusedLimit)
                    )
                )
            )
            INSERT INTO refresh_tokens (session_id, hash, parent, issued_at)
            VALUES (\(session), \(next), \(hash), \(now))
            """
        )
    }
}
