import AuthAPI
import Foundation
import Postgres
import Wire

/// The tables `accounts` and `sign_in_names`.
struct AccountStore {
    let db: any PostgresExecutor

    struct Registration: Sendable {
        var username: Username?
        var email: EmailAddress?
        var fullName: FullName?
        var passwordHash: String
        /// A BCP 47 tag in canonical case.
        var language: String?
    }

    /// The data of an account that a login needs.
    struct Secret: Sendable {
        var id: UUID
        var passwordHash: String?
        /// The evidence that the device has signed in to the account before; nil for a new device.
        var knownDevice: KnownDevice?
    }

    /// - Throws: `username_taken`, a 409.
    func insert(_ registration: Registration, id: UUID, at now: Date) async throws {
        try await mappingNameConflict {
            try await db.run(
                """
                WITH account AS (
                    INSERT INTO accounts (
                        user_id, username, full_name, email, password_hash, is_anonymous, created_at, language
                    )
                    VALUES (
                        \(id), \(registration.username?.text), \(registration.fullName?.text),
                        \(registration.email?.text), \(registration.passwordHash), false, \(now),
                        \(registration.language)
                    )
                    RETURNING user_id
                )
                INSERT INTO sign_in_names (name, user_id)
                SELECT name, user_id
                FROM account, (VALUES (\(registration.username?.folded))) AS names (name)
                WHERE name IS NOT NULL
                """
            )
        }
    }

    func insertAnonymous(id: UUID, language: String?, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO accounts (user_id, is_anonymous, created_at, language)
            VALUES (\(id), true, \(now), \(language))
            """
        )
    }

    /// Registers an anonymous account, which keeps all its data; returns false if the account is no longer anonymous.
    ///
    /// - Throws: `username_taken`, a 409.
    func register(_ registration: Registration, anonymous id: UUID) async throws -> Bool {
        try await mappingNameConflict {
            try await db.first(
                """
                WITH account AS (
                    UPDATE accounts
                    SET username = \(registration.username?.text), email = \(registration.email?.text),
                        full_name = COALESCE(\(registration.fullName?.text), full_name),
                        password_hash = \(registration.passwordHash), is_anonymous = false,
                        language = COALESCE(language, \(registration.language))
                    WHERE user_id = \(id) AND is_anonymous
                    RETURNING user_id
                ), name AS (
                    INSERT INTO sign_in_names (name, user_id)
                    SELECT name, user_id
                    FROM account, (VALUES (\(registration.username?.folded))) AS names (name)
                    WHERE name IS NOT NULL
                )
                SELECT user_id FROM account
                """
            ) { _ in true } ?? false
        }
    }

    func find(_ id: UUID) async throws -> Account? {
        try await db.first(
            """
            SELECT user_id, username, full_name, email, email_verified, is_anonymous, created_at, language
            FROM accounts
            WHERE user_id = \(id)
            """,
            as: Account.init(row:)
        )
    }

    func isTaken(_ username: Username) async throws -> Bool {
        try await db.first("SELECT user_id FROM sign_in_names WHERE name = \(username.folded)") { _ in true } ?? false
    }

    func id(named name: String) async throws -> UUID? {
        try await db.first("SELECT user_id FROM sign_in_names WHERE name = \(name)") { try $0.uuid("user_id") }
    }

    /// Returns the login data for a folded name; `token` and `network` are hashes that may identify a known device.
    func secret(of name: String, token: Data?, network: Data?) async throws -> Secret? {
        try await db.first(
            """
            SELECT accounts.user_id, accounts.password_hash,
                by_token.device IS NOT NULL AS is_token_known, by_network.device IS NOT NULL AS is_network_known
            FROM sign_in_names
            JOIN accounts ON accounts.user_id = sign_in_names.user_id
            LEFT JOIN known_devices AS by_token
                ON by_token.user_id = accounts.user_id AND by_token.device = \(token)
            LEFT JOIN known_devices AS by_network
                ON by_network.user_id = accounts.user_id AND by_network.device = \(network)
            WHERE sign_in_names.name = \(name)
            """
        ) { row in
            let byToken = try row.bool("is_token_known") ? token.map { KnownDevice.token($0) } : nil
            let byNetwork = try row.bool("is_network_known") ? network.map { KnownDevice.network($0) } : nil
            return Secret(
                id: try row.uuid("user_id"),
                passwordHash: try row.optionalString("password_hash"),
                knownDevice: byToken ?? byNetwork
            )
        }
    }

    /// A registration whose address is not verified.
    struct Unverified: Sendable {
        var id: UUID
        var email: String
        var passwordHash: String?
    }

    /// Returns the newest account with this unverified address; the case of ASCII letters is ignored.
    func newestUnverified(_ address: String) async throws -> Unverified? {
        try await db.first(
            """
            SELECT user_id, email, password_hash
            FROM accounts
            WHERE lower(email COLLATE "C") = lower(\(address) COLLATE "C")
                AND NOT email_verified AND email IS NOT NULL
            ORDER BY created_at DESC
            LIMIT 1
            """
        ) { row in
            Unverified(
                id: try row.uuid("user_id"),
                email: try row.string("email"),
                passwordHash: try row.optionalString("password_hash")
            )
        }
    }

    /// Holds the account with a shared lock until the transaction ends; returns false if its password hash has changed.
    func lockShared(_ id: UUID, passwordHash: String) async throws -> Bool {
        try await db.first(
            "SELECT user_id FROM accounts WHERE user_id = \(id) AND password_hash = \(passwordHash) FOR SHARE"
        ) { _ in true } ?? false
    }

    func replacePasswordHash(of id: UUID, _ old: String, with new: String) async throws {
        try await db.run(
            "UPDATE accounts SET password_hash = \(new) WHERE user_id = \(id) AND password_hash = \(old)"
        )
    }

    /// - Returns: the changed account; nil if it does not exist.
    func setFullName(of id: UUID, to fullName: FullName?) async throws -> Account? {
        try await db.first(
            """
            UPDATE accounts
            SET full_name = \(fullName?.text)
            WHERE user_id = \(id)
            RETURNING user_id, username, full_name, email, email_verified, is_anonymous, created_at, language
            """,
            as: Account.init(row:)
        )
    }

    func setLanguage(of id: UUID, to language: String?) async throws {
        try await db.run("UPDATE accounts SET language = \(language) WHERE user_id = \(id)")
    }

    /// - Returns: the changed account; nil if it does not exist or is anonymous.
    func setUsername(of id: UUID, to username: Username) async throws -> Account? {
        try await db.first(
            """
            UPDATE accounts
            SET username = \(username.text)
            WHERE user_id = \(id) AND NOT is_anonymous
            RETURNING user_id, username, full_name, email, email_verified, is_anonymous, created_at, language
            """,
            as: Account.init(row:)
        )
    }

    func deleteUsername(of id: UUID) async throws {
        try await db.run("DELETE FROM sign_in_names WHERE user_id = \(id) AND position('@' IN name) = 0")
    }

    /// - Throws: `username_taken`, a 409.
    func insert(_ username: Username, of id: UUID) async throws {
        try await mappingNameConflict {
            try await db.run("INSERT INTO sign_in_names (name, user_id) VALUES (\(username.folded), \(id))")
        }
    }

    /// Returns the accounts with these folded usernames, by name.
    func summaries(named names: [String]) async throws -> [String: UserSummary] {
        let found = try await db.all(
            """
            SELECT sign_in_names.name, accounts.user_id, accounts.username, accounts.full_name
            FROM sign_in_names
            JOIN accounts ON accounts.user_id = sign_in_names.user_id
            WHERE sign_in_names.name = ANY(\(names)) AND NOT accounts.is_anonymous
            """
        ) { row in (try row.string("name"), try UserSummary(row: row)) }
        return Dictionary(found) { first, _ in first }
    }

    func summaries(ids: [UUID]) async throws -> [UserSummary] {
        try await db.all(
            "SELECT user_id, username, full_name FROM accounts WHERE user_id = ANY(\(ids))",
            as: UserSummary.init(row:)
        )
    }

    @discardableResult
    private func mappingNameConflict<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PostgresError where error.violates("sign_in_names_pkey") {
            throw APIError(.conflict, "username_taken", "this username is already in use", field: "username")
        }
    }
}

extension Account {
    init(row: PostgresRow) throws {
        self.init(
            userId: try row.uuid("user_id").wire,
            username: try row.optionalString("username"),
            fullName: try row.optionalString("full_name"),
            email: try row.optionalString("email"),
            emailVerified: try row.bool("email_verified"),
            isAnonymous: try row.bool("is_anonymous"),
            createdAt: try row.date("created_at"),
            language: try row.optionalString("language")
        )
    }
}

extension UserSummary {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            userId: try row.uuid("user_id").wire,
            username: try row.optionalString("username"),
            fullName: try row.optionalString("full_name")
        )
    }
}

extension UUID {
    /// The UUID as JSON contains it: in lower case.
    var wire: String { uuidString.lowercased() }
}
