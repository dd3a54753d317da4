import AuthAPI
import Foundation
import Logging
import Postgres
import Wire

/// Accounts that the operator has shut: signed out everywhere, and nobody signs in to them, until he opens them again.
struct DisabledAccounts: Sendable {
    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let audit: Audit
    let logger: Logger
    let now: @Sendable () -> Date

    /// One that is disabled already stays as it is.
    func disable(_ id: UUID) async throws {
        try await database.transaction { db in
            let accounts = AccountStore(db: db)
            // Whoever signs in holds the account, so no session is opened behind the end of the others.
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
