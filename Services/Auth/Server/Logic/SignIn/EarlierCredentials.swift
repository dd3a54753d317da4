import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The removal of credentials that may belong to another person than the owner of the account's e-mail address.
///
/// An attacker can register an account with another person's address, and the owner may verify the address with the
/// link alone. When that owner later signs in with the address, all earlier credentials end: password, passkeys, linked
/// identities, sessions, and queued emails. If the address is proven, all credentials stay: its verifier also held the
/// account.
///
/// The second factor stays. It cannot sign in by itself, and access to the mailbox alone must not remove it.
struct EarlierCredentials: Sendable {
    let sessionRevocations: SessionRevocations
    let audit: Audit

    /// Removes all earlier credentials unless the address is proven, and then marks the address as proven.
    ///
    /// The caller must have locked the account.
    func end(of account: UUID, by caller: ClientInfo, in db: PostgresTransaction) async throws {
        let secrets = AccountSecretStore(db: db)
        guard try await !secrets.isEmailProven(account) else { return }
        try await secrets.removePassword(of: account)
        _ = try await PasskeyStore(db: db).delete(of: account)
        _ = try await IdentityStore(db: db).delete(of: account, at: nil, now: audit.now())
        try await LoginChallengeStore(db: db).delete(of: account)
        try await KnownDeviceStore(db: db).delete(of: account)
        try await deleteLinks(of: account, in: db)
        // Sessions end last, because a concurrent sign-in with one of these credentials may have opened a session.
        try await sessionRevocations.endAll(of: User.ID(application: RoostApplication.id, user: account.wire), in: db)
        try await secrets.proveEmail(of: account)
        try await audit.record(.credentialsEnded, of: account, by: caller, in: db)
    }

    /// Invalidates the links that were sent for an account, and those in queued emails.
    func deleteLinks(of account: UUID, in db: PostgresTransaction) async throws {
        // Queued emails are deleted first: the sender inserts a link only while its email's row exists.
        try await EmailStore(db: db).delete(.verify, of: account)
        try await EmailLinkStore(db: db).delete(of: account)
    }
}
