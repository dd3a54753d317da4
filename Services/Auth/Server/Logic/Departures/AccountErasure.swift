import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// How an account goes: with its sessions, names, keys and everything else of it at once here, and elsewhere by the event
/// that says so.
struct AccountErasure: Sendable {
    let database: PostgresPool
    let reauthentication: Reauthentication
    let identities: Identities
    let departures: Departures
    let ends: SessionEnds

    /// Takes away the account of whoever asks, once he has shown that it is his.
    func delete(_ deletion: AccountDeletion, by identity: Identity) async throws {
        guard identity.user.isRoosts else { throw Accounts.notOurs }
        try await reauthentication.require(deletion.password, of: identity)
        guard let id = identity.user.accountID else { throw Accounts.noAccount }
        try await delete(id)
    }

    /// - Throws: a 404 if there is no such account.
    func delete(_ id: UUID) async throws {
        try await database.transaction { db in try await erase(id, in: db) }
    }

    private func erase(_ id: UUID, in db: PostgresTransaction) async throws {
        let accounts = AccountStore(db: db)
        // First of all, since every sign-in holds it: none that is under way opens a session behind the end of the others.
        guard try await accounts.lock(id) else { throw Accounts.noAccount }
        guard try await ApplicationStore(db: db).count(of: id) == 0 else {
            throw APIError(
                .conflict,
                "owns_applications",
                "The account owns applications; delete them first with DELETE /applications/{id}."
            )
        }
        let user = User.ID(application: RoostApplication.id, user: id.wire)
        try await ends.endAll(of: user, in: db)
        try await departures.begin(user, in: db)
        try await identities.forgetAll(of: id, in: db)
        // Every table of the account's own has a foreign key to it, and goes with it.
        try await accounts.delete(id)
    }
}
