import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The deletion of accounts.
///
/// Auth deletes its own rows and ends all sessions at once. The other services delete their data when they receive the
/// event of the deletion.
struct AccountDeletions: Sendable {
    let database: PostgresPool
    let reauthentication: Reauthentication
    let identities: Identities
    let deletionJobs: DeletionJobs
    let sessionRevocations: SessionRevocations

    /// Deletes the caller's account after reauthentication.
    func delete(_ deletion: AccountDeletion, by identity: Identity) async throws {
        guard identity.user.isRoostUser else { throw Accounts.externalAccount }
        try await reauthentication.require(deletion.password, of: identity)
        guard let id = identity.user.accountID else { throw Accounts.accountNotFound }
        try await delete(id)
    }

    /// Deletes an account without reauthentication.
    ///
    /// - Throws: `account_not_found` if the account does not exist.
    func delete(_ id: UUID) async throws {
        try await database.transaction { db in try await delete(id, in: db) }
    }

    private func delete(_ id: UUID, in db: PostgresTransaction) async throws {
        let accounts = AccountStore(db: db)
        // Sign-ins lock the account too. Locking it first keeps a concurrent sign-in from opening a session after all
        // have ended.
        guard try await accounts.lock(id) else { throw Accounts.accountNotFound }
        guard try await ApplicationStore(db: db).count(of: id) == 0 else {
            throw APIError(
                .conflict,
                "owns_applications",
                "the account owns applications; delete them first with DELETE /applications/{id}"
            )
        }
        let user = User.ID(application: RoostApplication.id, user: id.wire)
        try await sessionRevocations.endAll(of: user, in: db)
        try await deletionJobs.begin(user, in: db)
        try await identities.unlinkAll(of: id, in: db)
        // All tables with data of the account reference it with a cascading foreign key.
        try await accounts.delete(id)
    }
}
