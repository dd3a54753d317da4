import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The rules of changing a password: the user knows the current one, or reads the account's mailbox.
///
/// A change or reset does not sign in and does not affect the second factor: a user who forgot the password still has
/// the phone.
struct PasswordChanges: Sendable {
    let database: PostgresPool
    let passwords: Passwords
    let reauthentication: Reauthentication
    let throttle: LoginThrottle
    let sessionRevocations: SessionRevocations
    let earlierCredentials: EarlierCredentials
    let audit: Audit
    let emailOutbox: EmailOutbox
    let now: @Sendable () -> Date

    /// Changes the caller's password and ends the caller's other sessions.
    func change(_ draft: PasswordChange, by identity: Identity, from caller: ClientInfo) async throws {
        try Passwords.check(draft.newPassword, field: "newPassword")
        let id = try identity.user.requireAccountID()
        guard let currentSession = UUID(uuidString: identity.session) else { throw Accounts.externalAccount }
        let old = try await proof(draft, of: id, identity)
        let share = HashingThreads.Share(of: caller, account: id.wire)
        let new = try await passwords.hash(draft.newPassword, field: "newPassword", for: share)
        try await database.transaction { db in
            guard try await AccountStore(db: db).lock(id) else { throw Accounts.accountNotFound }
            try await reauthentication.requireLive(identity, in: db)
            guard try await AccountSecretStore(db: db).setPasswordHash(of: id, old, to: new) else {
                throw APIError(.conflict, "password_changed", "the password was changed by another request")
            }
            try await EmailLinkStore(db: db).delete(of: id, for: .reset)
            // A sign-in with the old password may be waiting for its second factor.
            try await LoginChallengeStore(db: db).delete(of: id)
            try await audit.record(.passwordChanged, by: identity, from: caller, in: db)
            try await emailOutbox.sendNotice(.passwordChanged, toOwnerOf: id, in: db)
            try await sessionRevocations.endAll(of: identity.user, except: currentSession, in: db)
        }
        emailOutbox.notify()
    }

    /// Returns the hash of the verified current password; nil for an account without one after a recent sign-in.
    private func proof(_ draft: PasswordChange, of id: UUID, _ identity: Identity) async throws -> String? {
        if let current = draft.currentPassword, !current.isEmpty {
            return try await reauthentication.check(current, of: id, field: "currentPassword")
        }
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw APIError(
                .conflict,
                "anonymous_account",
                "an anonymous account cannot set a password; register the account first"
            )
        }
        guard try await AccountSecretStore(db: database.reads).passwordHash(of: id) == nil else {
            throw APIError.missing("currentPassword")
        }
        try await reauthentication.require(nil, of: identity)
        return nil
    }

    /// Sends a reset link to the address, if it is the verified address of an account.
    ///
    /// The account is looked up when the email is sent, so the work before the response is the same for every address.
    func requestReset(_ draft: PasswordResetRequest, from caller: ClientInfo) async throws {
        let address = try EmailAddress(draft.email)
        try emailOutbox.require()
        try await emailOutbox.count(caller, in: database)
        try await database.transaction { db in try await emailOutbox.write(.passwordReset, to: address, in: db) }
        emailOutbox.notify()
    }

    /// Sets a new password with the token of a link and ends all sessions, and other credentials that may belong to
    /// another person.
    ///
    /// - Throws: a 400 for a link that was used, has expired or is invalid.
    func reset(_ draft: PasswordReset, from caller: ClientInfo) async throws {
        var faults = FieldErrors()
        let token = try faults.collect { try EmailAddresses.token(draft.token) }
        _ = try faults.collect { try Passwords.check(draft.newPassword, field: "newPassword") }
        try faults.finish()
        guard let token else { throw EmailAddresses.invalidLink }
        // This check only avoids an expensive password hash; the transaction decides.
        let found = try await EmailLinkStore(db: database.reads).account(of: token.hash, for: .reset, at: now())
        guard let found else { throw EmailAddresses.invalidLink }
        let share = HashingThreads.Share(of: caller, account: found.wire)
        let new = try await passwords.hash(draft.newPassword, field: "newPassword", for: share)
        try await database.transaction { db in
            guard let link = try await EmailLinkStore(db: db).consume(token.hash, for: .reset, at: now()),
                let account = try await AccountSecretStore(db: db).setPasswordHash(of: link.account, to: new),
                // A link that was sent to a former address of the account is invalid.
                account.emailVerified, account.email.map(NameFolding.fold) == NameFolding.fold(link.address)
            else { throw EmailAddresses.invalidLink }
            try await earlierCredentials.end(of: link.account, by: caller, in: db)
            // Ending earlier credentials may have removed the new password, so it is set again.
            _ = try await AccountSecretStore(db: db).setPasswordHash(of: link.account, to: new)
            try await earlierCredentials.deleteLinks(of: link.account, in: db)
            try await LoginChallengeStore(db: db).delete(of: link.account)
            try await audit.record(.passwordReset, of: link.account, by: caller, in: db)
            try await emailOutbox.sendNotice(.passwordChanged, toOwnerOf: link.account, in: db)
            try await resetFailures(account, in: db)
            try await sessionRevocations.endAll(
                of: User.ID(application: RoostApplication.id, user: account.userId),
                in: db
            )
        }
        emailOutbox.notify()
    }

    /// Resets the failed logins of the account: those attempts knew at most the old password.
    private func resetFailures(_ account: Account, in db: any PostgresExecutor) async throws {
        for name in [account.username, account.email].compactMap(\.self) {
            let buckets = throttle.buckets(name: NameFolding.fold(name), address: nil, knownDevice: nil)
            try await throttle.resetFailures(buckets, in: db)
        }
    }
}
