import AuthAPI
import Foundation
import Logging
import Postgres
import Wire

/// The accounts that the operator has disabled: their sessions end, and sign-in is blocked until the operator enables
/// them.
struct DisabledAccounts: Sendable {
    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let audit: Audit
    let logger: Logger
    let now: @Sendable () -> Date

    /// Disables an account; a disabled account stays as it is.
    func disable(_ id: UUID) async throws {
        try await database.transaction { db in
            let accounts = AccountStore(db: db)
            // Sign-ins lock the account too, so no session opens after all have ended.
            guard try await accounts.lock(id) else { throw Accounts.accountNotFound }
            if try await accounts.disable(id, at: now()) { try await audit.record(.disabled, of: id, in: db) }
            try await sessionRevocations.endAll(of: User.ID(application: RoostApplication.id, user: id.wire), in: db)
        }
        logger.notice("account disabled", metadata: ["user": "\(id.wire)"])
    }

    func enable(_ id: UUID) async throws {
        try await database.transaction { db in
            let accounts = AccountStore(db: db)
            guard try await accounts.lock(id) else { throw Accounts.accountNotFound }
            if try await accounts.enable(id) { try await audit.record(.enabled, of: id, in: db) }
        }
        logger.notice("account enabled", metadata: ["user": "\(id.wire)"])
    }
}
