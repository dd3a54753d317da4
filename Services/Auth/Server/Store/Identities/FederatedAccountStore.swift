import Foundation
import Postgres

/// The queries of `accounts` and `sign_in_names` for sign-in with external providers.
struct FederatedAccountStore {
    let db: any PostgresExecutor

    struct SignInMethods: Sendable {
        var hasPassword: Bool
        var identities: Int
        var passkeys: Int

        var hasAny: Bool { hasPassword || identities > 0 || passkeys > 0 }
    }

    /// Inserts an account without a username and password.
    func insert(
        _ id: UUID,
        email: EmailAddress?,
        fullName: FullName?,
        language: String?,
        at now: Date
    ) async throws {
        try await db.run(
            """
            INSERT INTO accounts (user_id, full_name, email, is_anonymous, created_at, language)
            VALUES (\(id), \(fullName?.text), \(email?.text), false, \(now), \(language))
            """
        )
    }

    /// Registers an anonymous account, which keeps all its data; returns false if the account is no longer anonymous.
    func name(
        _ id: UUID,
        email: EmailAddress?,
        fullName: FullName?,
        language: String?
    ) async throws -> Bool {
        try await db.run(
            """
            UPDATE accounts
            SET is_anonymous = false, email = \(email?.text), full_name = COALESCE(\(fullName?.text), full_name),
                language = COALESCE(language, \(language))
            WHERE user_id = \(id) AND is_anonymous
            """
        ) == 1
    }

    /// Returns the account with this verified address.
    ///
    /// The account stays locked until the transaction ends.
    func matchingAccount(of email: EmailAddress) async throws -> UUID? {
        try await db.first(
            """
            SELECT accounts.user_id
            FROM sign_in_names
            JOIN accounts ON accounts.user_id = sign_in_names.user_id
            WHERE sign_in_names.name = \(email.folded) AND accounts.email_verified
            FOR NO KEY UPDATE OF accounts
            """
        ) { try $0.uuid("user_id") }
    }

    /// Returns the sign-in methods of an account.
    ///
    /// The caller must lock the account first, to include changes of earlier transactions.
    func signInMethods(of id: UUID) async throws -> SignInMethods {
        try await db.one(
            """
            SELECT password_hash IS NOT NULL AS has_password,
                (SELECT count(*) FROM identities WHERE identities.user_id = accounts.user_id) AS identities,
                (SELECT count(*) FROM passkeys WHERE passkeys.user_id = accounts.user_id) AS passkeys
            FROM accounts
            WHERE user_id = \(id)
            """
        ) { row in
            SignInMethods(
                hasPassword: try row.bool("has_password"),
                identities: try row.int("identities"),
                passkeys: try row.int("passkeys")
            )
        }
    }
}
