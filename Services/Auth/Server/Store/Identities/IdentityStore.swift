import AuthAPI
import Foundation
import Postgres
import ServiceHost

/// The table `identities`.
struct IdentityStore {
    let db: any PostgresExecutor

    /// An external identity: the provider's name and the user's id there.
    struct Key: Hashable, Sendable {
        var provider: String
        var subject: String
    }

    /// Locks an identity until the transaction ends, whether its row exists or not.
    func lock(_ key: Key) async throws {
        let name = "identity\n\(key.provider)\n\(key.subject)"
        try await db.run("SELECT pg_advisory_xact_lock(hashtextextended(\(name), 0))")
    }

    func account(of key: Key) async throws -> UUID? {
        try await db.first(
            "SELECT user_id FROM identities WHERE provider = \(key.provider) AND subject = \(key.subject)"
        ) { try $0.uuid("user_id") }
    }

    /// Returns false if the account is linked to another identity of the same provider.
    func insert(
        _ key: Key,
        of account: UUID,
        email: String?,
        token: TokenEncryptor.EncryptedValue?,
        at now: Date
    ) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO identities (
                provider, subject, user_id, email, encrypted_token, encryption_key_id, linked_at, last_signed_in_at
            )
            VALUES (
                \(key.provider), \(key.subject), \(account), \(email), \(token?.box), \(token?.keyID), \(now), \(now)
            )
            ON CONFLICT (user_id, provider) DO NOTHING
            """
        ) == 1
    }

    /// Records a sign-in; without a new token, the stored one is kept.
    ///
    /// - Returns: false if the identity was unlinked in the meantime.
    func record(_ key: Key, email: String?, token: TokenEncryptor.EncryptedValue?, at now: Date) async throws -> Bool {
        try await db.run(
            """
            UPDATE identities
            SET email = \(email), last_signed_in_at = \(now),
                encrypted_token = COALESCE(\(token?.box), encrypted_token),
                encryption_key_id = COALESCE(\(token?.keyID), encryption_key_id)
            WHERE provider = \(key.provider) AND subject = \(key.subject)
            """
        ) == 1
    }

    func list(of account: UUID) async throws -> [LinkedIdentity] {
        try await db.all(
            """
            SELECT provider, email, linked_at, last_signed_in_at
            FROM identities
            WHERE user_id = \(account)
            ORDER BY provider
            """
        ) { row in
            LinkedIdentity(
                provider: try row.string("provider"),
                email: try row.optionalString("email"),
                linkedAt: try row.date("linked_at"),
                lastSignedInAt: try row.date("last_signed_in_at")
            )
        }
    }

    /// Deletes an account's identity of one provider, or all its identities, and queues their tokens for revocation in
    /// the same statement.
    ///
    /// - Returns: the number of deleted identities.
    func delete(of account: UUID, at provider: String?, now: Date) async throws -> Int {
        try await db.one(
            """
            WITH deleted AS (
                DELETE FROM identities
                WHERE user_id = \(account) AND (\(provider) IS NULL OR provider = \(provider))
                RETURNING provider, subject, encrypted_token, encryption_key_id
            ), queued AS (
                INSERT INTO identity_revocations (
                    revocation_id, provider, subject, encrypted_token, encryption_key_id, due_at
                )
                SELECT gen_random_uuid(), provider, subject, encrypted_token, encryption_key_id, \(now)
                FROM deleted
                WHERE encrypted_token IS NOT NULL
            )
            SELECT count(*) AS deleted FROM deleted
            """
        ) { try $0.int("deleted") }
    }
}
