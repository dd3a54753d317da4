import AuthAPI
import Foundation
import Postgres
import Wire

/// The table `accounts`, as far as it says what an account is entered by: its password and its address.
struct AccountSecretStore {
    let db: any PostgresExecutor

    /// Sets a password where it is `old`, or none where that is nil; false if it is another by now.
    func setPasswordHash(of id: UUID, _ old: String?, to new: String) async throws -> Bool {
        try await db.run(
            """
            UPDATE accounts SET password_hash = \(new)
            WHERE user_id = \(id) AND password_hash IS NOT DISTINCT FROM \(old) AND NOT is_anonymous
            """
        ) == 1
    }

    /// Sets a password whatever it was before; nil if there is no such account.
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

    /// What a password is compared with; nil where there is no account, or none with a password.
    func passwordHash(of id: UUID) async throws -> String? {
        try await db.first("SELECT password_hash FROM accounts WHERE user_id = \(id)") { row in
            try row.optionalString("password_hash")
        } ?? nil
    }

    /// Locks an account until the transaction ends, and shows it.
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

    /// Whether the verified address was verified by a person who also held the account.
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

    /// Makes an address the account's own, by which it signs in from now on, and by no other; false if it is another's.
    ///
    /// Whoever asks has made sure that the address is the account's holder's; `isProven` says whether the person who
    /// verifies it holds the account too.
    func verify(_ email: EmailAddress, of id: UUID, isProven: Bool) async throws -> Bool {
        try await db.run(
            """
            WITH taken AS (
                INSERT INTO sign_in_names (name, user_id) VALUES (\(email.folded), \(id))
                ON CONFLICT (name) DO UPDATE SET user_id = excluded.user_id
                WHERE sign_in_names.user_id = excluded.user_id
                RETURNING name, user_id
            ), former AS (
                DELETE FROM sign_in_names
                USING taken
                WHERE sign_in_names.user_id = taken.user_id AND sign_in_names.name <> taken.name
                    AND position('@' IN sign_in_names.name) > 0
            )
            UPDATE accounts
            SET email = \(email.text), email_verified = true,
                proven_email = CASE WHEN \(isProven) THEN \(email.text) END
            FROM taken
            WHERE accounts.user_id = taken.user_id
            """
        ) == 1
    }
}
