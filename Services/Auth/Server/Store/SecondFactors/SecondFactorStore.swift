import AuthAPI
import Foundation
import Postgres
import ServiceHost

/// The tables `totp_factors` and `recovery_codes`.
struct SecondFactorStore {
    let db: any PostgresExecutor

    struct Record: Sendable {
        var encryptedSecret: TokenEncryptor.EncryptedValue
        var isConfirmed: Bool
    }

    /// Inserts an unconfirmed app, replacing another unconfirmed one; returns false if a confirmed one exists.
    func insert(_ secret: TokenEncryptor.EncryptedValue, of account: UUID, at now: Date) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO totp_factors AS factor (user_id, encrypted_secret, encryption_key_id, created_at)
            VALUES (\(account), \(secret.box), \(secret.keyID), \(now))
            ON CONFLICT (user_id) DO UPDATE SET
                encrypted_secret = excluded.encrypted_secret, encryption_key_id = excluded.encryption_key_id,
                created_at = excluded.created_at, last_period = 0
            WHERE factor.confirmed_at IS NULL
            """
        ) == 1
    }

    func find(_ account: UUID) async throws -> Record? {
        try await db.first(
            "SELECT encrypted_secret, encryption_key_id, confirmed_at FROM totp_factors WHERE user_id = \(account)"
        ) { row in
            Record(
                encryptedSecret: TokenEncryptor.EncryptedValue(
                    box: try row.decode("encrypted_secret"),
                    keyID: try row.string("encryption_key_id")
                ),
                isConfirmed: try row.optionalDate("confirmed_at") != nil
            )
        }
    }

    /// Returns whether sign-in requires a second factor.
    func isConfirmed(_ account: UUID) async throws -> Bool {
        try await db.first(
            "SELECT user_id FROM totp_factors WHERE user_id = \(account) AND confirmed_at IS NOT NULL"
        ) { _ in true } ?? false
    }

    /// Returns the second factor as its owner sees it; nil if sign-in requires none.
    func summary(of account: UUID) async throws -> SecondFactorSummary? {
        try await db.first(
            """
            SELECT confirmed_at,
                (SELECT count(*) FROM recovery_codes WHERE recovery_codes.user_id = totp_factors.user_id) AS codes
            FROM totp_factors
            WHERE user_id = \(account) AND confirmed_at IS NOT NULL
            """
        ) { row in
            SecondFactorSummary(confirmedAt: try row.date("confirmed_at"), recoveryCodesLeft: try row.int("codes"))
        }
    }

    /// Returns false if the app was already confirmed or no longer exists.
    func confirm(_ account: UUID, period: Int64, at now: Date) async throws -> Bool {
        try await db.run(
            """
            UPDATE totp_factors SET confirmed_at = \(now), last_period = \(period)
            WHERE user_id = \(account) AND confirmed_at IS NULL
            """
        ) == 1
    }

    /// Consumes the code of a period; returns false if a code of this or a later period was already used.
    func consume(period: Int64, of account: UUID) async throws -> Bool {
        try await db.run(
            """
            UPDATE totp_factors SET last_period = \(period)
            WHERE user_id = \(account) AND confirmed_at IS NOT NULL AND last_period < \(period)
            """
        ) == 1
    }

    /// Deletes a confirmed app and its recovery codes.
    func delete(of account: UUID) async throws {
        try await db.run("DELETE FROM recovery_codes WHERE user_id = \(account)")
        try await db.run("DELETE FROM totp_factors WHERE user_id = \(account) AND confirmed_at IS NOT NULL")
    }

    // MARK: Recovery codes

    func replaceRecoveryCodes(of account: UUID, with hashes: [Data]) async throws {
        try await db.run("DELETE FROM recovery_codes WHERE user_id = \(account)")
        try await db.run(
            "INSERT INTO recovery_codes (user_id, hash) SELECT \(account), hash FROM unnest(\(hashes)) AS codes (hash)"
        )
    }

    /// Consumes a recovery code; returns false if it is unknown or already used.
    func consume(recoveryCode hash: Data, of account: UUID) async throws -> Bool {
        try await db.run("DELETE FROM recovery_codes WHERE user_id = \(account) AND hash = \(hash)") == 1
    }
}
