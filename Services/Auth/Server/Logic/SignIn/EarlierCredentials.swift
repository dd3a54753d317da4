import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// Ends the credentials of an account that may belong to another person than the owner of its e-mail address.
///
/// An account can be registered with another person's address, and the owner of the address may verify it by the link
/// alone. When that owner then comes in by the address, each credential from before ends: password, passkeys, linked
/// identities, sessions, and mails on their way. They stay where the address is proven: verified by a person who also
/// held the account.
///
/// The second factor stays. It signs in to nothing by itself, and a mailbox alone must not remove it.
struct EarlierCredentials: Sendable {
    let sessionRevocations: SessionRevocations
    let audit: Audit

    /// Ends them, unless the address is proven, and regards the address as proven from then on.
    ///
    /// The caller has locked the account.
    func end(of account: UUID, by caller: ClientInfo, in db: PostgresTransaction) async throws {
        let secrets = AccountSecretStore(db: db)
        guard try await !secrets.isEmailProven(account) else { return }
        try await secrets.removePassword(of: account)
        _ = try await PasskeyStore(db: db).delete(of: account)
        _ = try await IdentityStore(db: db).delete(of: account, at: nil, now: audit.now())
        try await LoginChallengeStore(db: db).delete(of: account)
        try await KnownDeviceStore(db: db).delete(of: account)
        try await deleteLinks(of: account, in: db)
        // Last: a sign-in by one of the above that was faster has opened its session by now.
        try await sessionRevocations.endAll(of: User.ID(application: RoostApplication.id, user: account.wire), in: db)
        try await secrets.proveEmail(of: account)
        try await audit.record(.credentialsEnded, of: account, by: caller, in: db)
    }

    /// Makes worthless the links that were sent for an account, and those in mails that wait to be sent.
    func deleteLinks(of account: UUID, in db: PostgresTransaction) async throws {
        // The mails first: the delivery of one inserts its link only while the mail is there.
        try await EmailStore(db: db).delete(.verify, of: account)
        try await EmailLinkStore(db: db).delete(of: account)
    }
}
