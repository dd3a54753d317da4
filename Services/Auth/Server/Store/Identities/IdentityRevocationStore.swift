import Foundation
import Postgres
import ServiceHost

/// The table `identity_revocations`.
struct IdentityRevocationStore {
    let db: any PostgresExecutor

    /// A token that must still be revoked at its provider.
    struct Record: Sendable {
        var id: UUID
        var identity: IdentityStore.Key
        var token: TokenEncryptor.EncryptedValue
        /// The number of attempts, including the current one.
        var attempts: Int
    }

    /// Claims up to `limit` tokens that are due.
    ///
    /// They are due again at `next`, in case the instance crashes.
    func claim(dueAt now: Date, retryAt next: Date, limit: Int) async throws -> [Record] {
        try await db.all(
            """
            UPDATE identity_revocations
            SET attempts = attempts + 1, due_at = \(next)
            WHERE revocation_id IN (
                SELECT revocation_id FROM identity_revocations
                WHERE due_at <= \(now)
                ORDER BY due_at
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            RETURNING revocation_id, provider, subject, encrypted_token, encryption_key_id, attempts
            """,
            as: Record.init(row:)
        )
    }

    func delay(_ id: UUID, until due: Date) async throws {
        try await db.run("UPDATE identity_revocations SET due_at = \(due) WHERE revocation_id = \(id)")
    }

    func delete(_ id: UUID) async throws {
        try await db.run("DELETE FROM identity_revocations WHERE revocation_id = \(id)")
    }
}

extension IdentityRevocationStore.Record {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.uuid("revocation_id"),
            identity: .init(provider: try row.string("provider"), subject: try row.string("subject")),
            token: .init(box: try row.decode("encrypted_token"), keyID: try row.string("encryption_key_id")),
            attempts: try row.int("attempts")
        )
    }
}
