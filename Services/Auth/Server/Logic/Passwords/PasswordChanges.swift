import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The rules by which a password becomes another one: its owner knows it, or reads the mailbox of the account.
///
/// Neither signs in, and neither touches the second factor: who has forgotten a password has not lost his phone.
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

    /// Changes the password of whoever asks, and ends his other sessions.
    func change(_ draft: PasswordChange, by identity: Identity, from caller: ClientInfo) async throws {
        try Passwords.check(draft.newPassword, field: "newPassword")
        let id = try identity.user.requireAccountID()
        guard let kept = UUID(uuidString: identity.session) else { throw Accounts.externalAccount }
        let old = try await proof(draft, of: id, identity)
        let share = HashingThreads.Share(of: caller, account: id.wire)
        let new = try await passwords.hash(draft.newPassword, field: "newPassword", for: share)
        try await database.transaction { db in
            guard try await AccountStore(db: db).lock(id) else { throw Accounts.accountNotFound }
            try await reauthentication.requireLive(identity, in: db)
            guard try await AccountSecretStore(db: db).setPasswordHash(of: id, old, to: new) else {
                throw APIError(.conflict, "password_changed", "the password was changed meanwhile")
            }
            try await EmailLinkStore(db: db).delete(of: id, for: .reset)
            // A sign-in by the old password that waits for its second factor.
            try await LoginChallengeStore(db: db).delete(of: id)
            try await audit.record(.passwordChanged, by: identity, from: caller, in: db)
            try await emailOutbox.sendNotice(.passwordChanged, toOwnerOf: id, in: db)
            try await sessionRevocations.endAll(of: identity.user, except: kept, in: db)
        }
        emailOutbox.notify()
    }

    /// The hash of the password that was shown; nil for an account without one, whose owner has just signed in.
    private func proof(_ draft: PasswordChange, of id: UUID, _ identity: Identity) async throws -> String? {
        if let current = draft.currentPassword, !current.isEmpty {
            return try await reauthentication.check(current, of: id, field: "currentPassword")
        }
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw APIError(.conflict, "anonymous_account", "an anonymous account gets its password by registering")
        }
        guard try await AccountSecretStore(db: database.reads).passwordHash(of: id) == nil else {
            throw APIError.missing("currentPassword")
        }
        try await reauthentication.require(nil, of: identity)
        return nil
    }

    /// Has a link sent to an address, if it is the verified one of an account.
    ///
    /// Whether it is, is looked up when the mail is written: what is done before the answer is the same for all.
    func requestReset(_ draft: PasswordResetRequest, from caller: ClientInfo) async throws {
        let address = try EmailAddress(draft.email)
        try emailOutbox.require()
        try await emailOutbox.count(caller, in: database)
        try await database.transaction { db in try await emailOutbox.write(.recover, to: address, in: db) }
        emailOutbox.notify()
    }

    /// Sets a new password by a link, and ends all sessions; other credentials too where they may be another person's.
    ///
    /// - Throws: a 400 for a link that was used, is too old, or is none.
    func reset(_ draft: PasswordReset, from caller: ClientInfo) async throws {
        var faults = FieldErrors()
        let token = try faults.collect { try EmailAddresses.token(draft.token) }
        _ = try faults.collect { try Passwords.check(draft.newPassword, field: "newPassword") }
        try faults.finish()
        guard let token else { throw EmailAddresses.invalidLink }
        // Looked up first, since a hash is dear; the transaction has the last word.
        let found = try await EmailLinkStore(db: database.reads).account(of: token.hash, for: .reset, at: now())
        guard let found else { throw EmailAddresses.invalidLink }
        let share = HashingThreads.Share(of: caller, account: found.wire)
        let new = try await passwords.hash(draft.newPassword, field: "newPassword", for: share)
        try await database.transaction { db in
            guard let link = try await EmailLinkStore(db: db).consume(token.hash, for: .reset, at: now()),
                let account = try await AccountSecretStore(db: db).setPasswordHash(of: link.account, to: new),
                // Sent to an address that it no longer has, it is worth nothing.
                account.emailVerified, account.email.map(NameFolding.fold) == NameFolding.fold(link.address)
            else { throw EmailAddresses.invalidLink }
            try await earlierCredentials.end(of: link.account, by: caller, in: db)
            // It may have ended the password that was just set.
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

    /// Forgets logins that failed: whoever tried them knows an old password at best.
    private func resetFailures(_ account: Account, in db: any PostgresExecutor) async throws {
        for name in [account.username, account.email].compactMap(\.self) {
            let buckets = throttle.buckets(name: NameFolding.fold(name), address: nil, knownDevice: nil)
            try await throttle.resetFailures(buckets, in: db)
        }
    }
}
