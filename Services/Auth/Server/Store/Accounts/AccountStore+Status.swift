import Foundation
import Postgres

extension AccountStore {
    /// Locks the account until the transaction ends; returns false if it does not exist.
    ///
    /// Sign-ins and changes of credentials wait for this lock. Rows that only reference the account do not: the end of
    /// a session records an event while it holds the session's lock. A transaction that has locked the account may be
    /// waiting for that session lock.
    func lock(_ id: UUID) async throws -> Bool {
        try await db.first("SELECT user_id FROM accounts WHERE user_id = \(id) FOR NO KEY UPDATE") { _ in true }
            ?? false
    }

    /// Returns whether the account is disabled, and holds it with a shared lock until the transaction ends; nil if it
    /// does not exist.
    func isDisabled(_ id: UUID) async throws -> Bool? {
        try await db.first(
            "SELECT disabled_at IS NOT NULL AS is_disabled FROM accounts WHERE user_id = \(id) FOR SHARE"
        ) { try $0.bool("is_disabled") }
    }

    /// Returns false if the account was already disabled.
    func disable(_ id: UUID, at now: Date) async throws -> Bool {
        try await db.run(
            "UPDATE accounts SET disabled_at = \(now) WHERE user_id = \(id) AND disabled_at IS NULL"
        ) == 1
    }

    /// Returns false if the account was not disabled.
    func enable(_ id: UUID) async throws -> Bool {
        try await db.run(
            "UPDATE accounts SET disabled_at = NULL WHERE user_id = \(id) AND disabled_at IS NOT NULL"
        ) == 1
    }

    /// Deletes the account, its names, devices and all other rows that reference it.
    func delete(_ id: UUID) async throws {
        try await db.run("DELETE FROM accounts WHERE user_id = \(id)")
    }
}
