import Foundation
import Postgres

/// Whether there is an account yet, and whether one may sign in to it.
extension AccountStore {
    /// Keeps everyone waiting who signs in to the account, or changes how that is done, until the transaction ends; false if
    /// there is none.
    ///
    /// Not those who only refer to it: a session that ends is noted beside it, under the session's lock, for which whoever has
    /// locked the account may be waiting.
    func lock(_ id: UUID) async throws -> Bool {
        try await db.first("SELECT user_id FROM accounts WHERE user_id = \(id) FOR NO KEY UPDATE") { _ in true }
            ?? false
    }

    /// Holds an account that somebody signs in to until the transaction ends; nil if there is none.
    func isDisabled(_ id: UUID) async throws -> Bool? {
        try await db.first(
            "SELECT disabled_at IS NOT NULL AS is_disabled FROM accounts WHERE user_id = \(id) FOR SHARE"
        ) { try $0.bool("is_disabled") }
    }

    /// False if it was so before.
    func disable(_ id: UUID, at now: Date) async throws -> Bool {
        try await db.run(
            "UPDATE accounts SET disabled_at = \(now) WHERE user_id = \(id) AND disabled_at IS NULL"
        ) == 1
    }

    /// False if it was so before.
    func enable(_ id: UUID) async throws -> Bool {
        try await db.run(
            "UPDATE accounts SET disabled_at = NULL WHERE user_id = \(id) AND disabled_at IS NOT NULL"
        ) == 1
    }

    /// With its names, devices and all else that refers to it.
    func delete(_ id: UUID) async throws {
        try await db.run("DELETE FROM accounts WHERE user_id = \(id)")
    }
}
