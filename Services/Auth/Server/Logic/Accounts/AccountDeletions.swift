import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// How an account goes: with its sessions, names, keys and everything else of it at once here, and elsewhere by the event
/// that says so.
struct AccountDeletions: Sendable {
    let database: PostgresPool
    let reauthentication: Reauthentication
    let identities: Identities
    let deletionJobs: DeletionJobs
    let sessionRevocations: SessionRevocations

    /// Takes away the account of whoever asks, once he has shown that it is his.
    func delete(_ deletion: AccountDeletion, by identity: Identity) async throws {
        guard identity.user.isRoostUser else { throw Accounts.externalAccount }
        try await reauthentication.require(deletion.password, of: identity)
        guard let id = identity.user.accountID else { throw Accounts.accountNotFound }
        try await delete(id)
    }

    /// - Throws: a 404 if there is no such account.
    func delete(_ id: UUID) async throws {
        try await database.transaction { db in try await delete(id, in: db) }
    }

    private func delete(_ id: UUID, in db: PostgresTransaction) async throws {
        let accounts = AccountStore(db: db)
        // First of all, since every sign-in holds it: none that is under way opens a session behind the end of the others.
        guard try await accounts.lock(id) else { throw Accounts.accountNotFound }
        guard try await ApplicationStore(db: db).count(of: id) == 0 else {
            throw APIError(
                .conflict,
                "owns_applications",
                "The account owns applications; delete them first with DELETE /applications/{id}."
            )
        }
        let user = User.ID(application: RoostApplication.id, user: id.wire)
        try await sessionRevocations.endAll(of: user, in: db)
        try await deletionJobs.begin(user, in: db)
        try await identities.unlinkAll(of: id, in: db)
        // Every table of the account's own has a foreign key to it, and goes with it.
        try await accounts.delete(id)
    }
}
