import AuthAPI
import Foundation
import Postgres
import Wire

/// The columns of the table `accounts` for passwords and e-mail addresses.
struct AccountSecretStore {
    let db: any PostgresExecutor

    /// Replaces the password hash `old`, or sets a first one if `old` is nil; returns false if the hash has changed.
    func setPasswordHash(of id: UUID, _ old: String?, to new: String) async throws -> Bool {
        try await db.run(
            """
            UPDATE accounts SET password_hash = \(new)
            WHERE user_id = \(id) AND password_hash IS NOT DISTINCT FROM \(old) AND NOT is_anonymous
            """
        ) == 1
    }

    /// Sets the password hash unconditionally; returns nil if the account does not exist.
    func setPasswordHash(of id: UUID, to new: String) async throws -> Account? {
        try await db.first(
            """
            UPDATE accounts SET password_hash = \(new)
            WHERE user_id = \(id) AND NOT is_anonymous
            RETURNING user_id, username, full_name, email, email_verified, is_anonymous, created_at, language
            """,
            as: Account.init(row:)
        )
    }

    /// Returns the password hash; nil if the account does not exist or has no password.
    func passwordHash(of id: UUID) async throws -> String? {
        try await db.first("SELECT password_hash FROM accounts WHERE user_id = \(id)") { row in
            try row.optionalString("password_hash")
        } ?? nil
    }

    /// Locks an account until the transaction ends, and returns it.
    func lock(_ id: UUID) async throws -> Account? {
        try await db.first(
            """
            SELECT user_id, username, full_name, email, email_verified, is_anonymous, created_at, language
            FROM accounts
            WHERE user_id = \(id)
            FOR NO KEY UPDATE
            """,
            as: Account.init(row:)
        )
    }

    /// Returns whether the person who verified the address also held the account.
    func isEmailProven(_ id: UUID) async throws -> Bool {
        try await db.first(
            "SELECT user_id FROM accounts WHERE user_id = \(id) AND email_verified AND proven_email = email"
        ) { _ in true } ?? false
    }

    func proveEmail(of id: UUID) async throws {
        try await db.run("UPDATE accounts SET proven_email = email WHERE user_id = \(id) AND email_verified")
    }

    func removePassword(of id: UUID) async throws {
        try await db.run("UPDATE accounts SET password_hash = NULL WHERE user_id = \(id)")
    }

    /// Makes an address the account's only verified address, with which it signs in; returns false if another account
    /// has it.
    ///
    /// The caller has checked that the verifier owns the address; `isProven` states whether the verifier also holds the
    /// account.
    func verify(_ email: EmailAddress, of id: UUID, isProven: Bool) async throws -> Bool {
        try await db.run(
            """
            WITH claimed AS (
                INSERT INTO sign_in_names (name, user_id) VALUES (\(email.folded), \(id))
                ON CONFLICT (name) DO UPDATE SET user_id = excluded.user_id
                WHERE sign_in_names.user_id = excluded.user_id
                RETURNING name, user_id
            ), former AS (
                DELETE FROM sign_in_names
                USING claimed
                WHERE sign_in_names.user_id = claimed.user_id AND sign_in_names.name <> claimed.name
                    AND position('@' IN sign_in_names.name) > 0
            )
            UPDATE accounts
            SET email = \(email.text), email_verified = true,
                proven_email = CASE WHEN \(isProven) THEN \(email.text) END
            FROM claimed
            WHERE accounts.user_id = claimed.user_id
            """
        ) == 1
    }
}
