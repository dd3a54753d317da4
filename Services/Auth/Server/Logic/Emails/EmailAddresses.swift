import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The rules of e-mail addresses: one is an account's own when its owner has followed the link that was sent there, and
/// not before.
///
/// The link alone shows that the verifier reads the mailbox. With a session or the password of the account, it also shows
/// that the verifier holds the account, so the address is proven. `EarlierCredentials` says what follows for the rest.
struct EmailAddresses: Sendable {
    let database: PostgresPool
    let emailOutbox: EmailOutbox
    let reauthentication: Reauthentication
    let audit: Audit
    let now: @Sendable () -> Date

    /// Sends a link to an address, which becomes the account's when it is followed; until then nothing changes.
    ///
    /// Answers alike for an address that is somebody else's: its owner is told instead.
    func change(_ draft: EmailDraft, by identity: Identity, from caller: ClientInfo) async throws {
        let address = try EmailAddress(draft.email)
        let id = try identity.user.requireAccountID()
        try emailOutbox.require()
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw APIError(.conflict, "anonymous_account", "an anonymous account gets its address by registering")
        }
        try await reauthentication.require(draft.password, of: identity)
        try await emailOutbox.count(id, in: database)
        guard try await emailOutbox.mayWriteToStrangers(caller, in: database) else { throw EmailOutbox.tooMany }
        try await database.transaction { db in
            guard try await AccountStore(db: db).lock(id) else { throw Accounts.accountNotFound }
            try await reauthentication.requireLive(identity, in: db)
            try await emailOutbox.write(.verify, to: address, about: id, in: db)
        }
        emailOutbox.notify()
    }

    /// Sends another verification mail to an address, if an account has registered with it.
    ///
    /// Whether one has, and which, is looked up when the mail is written. What is done before the response is the same for
    /// every address.
    ///
    /// - Throws: a 422 where no mail can be sent; a 429 for a client that has requested too many mails.
    func resend(_ draft: VerificationRequest, from caller: ClientInfo) async throws {
        let address = try EmailAddress(draft.email)
        try emailOutbox.require()
        try await emailOutbox.count(caller, in: database)
        guard try await emailOutbox.mayWriteToStrangers(caller, in: database) else { throw EmailOutbox.tooMany }
        try await database.transaction { db in try await emailOutbox.write(.verify, to: address, in: db) }
        emailOutbox.notify()
    }

    /// Makes the address that a link was sent to the account's own: it signs in by it from now on.
    ///
    /// A session of the same account proves that the verifier holds it; another account's counts for nothing.
    ///
    /// - Throws: a 400 for a link that was used, is too old, or is none; a 403 for a wrong password; a 409 where another
    ///   account was faster.
    func verify(_ draft: EmailVerification, by requester: Identity?, from caller: ClientInfo) async throws {
        let token = try Self.token(draft.token)
        var shownHash: String?
        if let password = draft.password, !password.isEmpty {
            let account = try await EmailLinkStore(db: database.reads).account(of: token.hash, for: .verify, at: now())
            guard let account else { throw Self.invalidLink }
            shownHash = try await reauthentication.check(password, of: account)
        }
        try await database.transaction { db in
            let (links, accounts) = (EmailLinkStore(db: db), AccountSecretStore(db: db))
            guard let link = try await links.consume(token.hash, for: .verify, at: now()),
                let account = try await accounts.lock(link.account)
            else { throw Self.invalidLink }
            let address = try EmailAddress(link.address)
            var isProven = false
            if let shownHash {
                isProven = try await accounts.passwordHash(of: link.account) == shownHash
            } else if let requester, requester.user.accountID == link.account {
                try await reauthentication.requireLive(requester, in: db)
                isProven = true
            }
            if !isProven, account.email.map(NameFolding.fold) == address.folded {
                isProven = try await accounts.isEmailProven(link.account)
            }
            guard try await accounts.verify(address, of: link.account, isProven: isProven) else { throw Self.taken }
            try await audit.record(.emailChanged, of: link.account, by: caller, in: db)
            // All others were sent to an address that it had or might have had; a new password is asked for anew.
            try await links.delete(of: link.account)
            if account.emailVerified, let former = account.email, NameFolding.fold(former) != address.folded {
                try await emailOutbox.sendNotice(.emailChanged, toFormerAddress: former, of: link.account, in: db)
            }
        }
        emailOutbox.notify()
    }

    static func token(_ text: String) throws -> EmailLinkToken {
        guard !text.isEmpty else { throw APIError.missing("token") }
        guard let token = EmailLinkToken(text) else { throw invalidLink }
        return token
    }

    private static let taken =
        APIError(.conflict, "email_taken", "this address belongs to another account already", field: "token")
    static let invalidLink = APIError.invalid(
        "token",
        "this link was used already, or is too old; ask for another",
        code: "invalid_email_token"
    )
}
