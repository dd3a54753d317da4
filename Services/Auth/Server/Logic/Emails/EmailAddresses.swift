import AuthAPI
import Credentials
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of e-mail addresses: an address belongs to an account only after a user followed the link that was sent to
/// it.
///
/// The link alone proves that the verifier reads the mailbox. With a session or the password of the account, it also
/// proves that the verifier holds the account, so the address is proven. `EarlierCredentials` defines the consequences.
struct EmailAddresses: Sendable {
    let database: PostgresPool
    let emailOutbox: EmailOutbox
    let reauthentication: Reauthentication
    let audit: Audit
    let events: EventOutbox
    let now: @Sendable () -> Date

    /// Sends a link to a new address; nothing changes until the link is followed.
    ///
    /// The response is the same if the address belongs to another account, whose owner then receives an email instead.
    func change(_ draft: EmailDraft, by identity: Identity, from caller: ClientInfo) async throws {
        let address = try EmailAddress(draft.email)
        let id = try identity.user.requireAccountID()
        try emailOutbox.require()
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw APIError(
                .conflict,
                "anonymous_account",
                "an anonymous account cannot change its e-mail address; register the account first"
            )
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

    /// Sends another verification email to an address, if an account has registered with it.
    ///
    /// The account is looked up when the email is sent. The work before the response is the same for every address.
    ///
    /// - Throws: a 422 if emails are not configured; a 429 for a client that has requested too many emails.
    func resend(_ draft: VerificationRequest, from caller: ClientInfo) async throws {
        let address = try EmailAddress(draft.email)
        try emailOutbox.require()
        try await emailOutbox.count(caller, in: database)
        guard try await emailOutbox.mayWriteToStrangers(caller, in: database) else { throw EmailOutbox.tooMany }
        try await database.transaction { db in try await emailOutbox.write(.verify, to: address, in: db) }
        emailOutbox.notify()
    }

    /// Makes the address of a link the account's verified address, with which the user can sign in.
    ///
    /// A session of the same account proves that the verifier holds the account; a session of another account is
    /// ignored.
    ///
    /// - Throws: a 400 for a link that was used, has expired or is invalid; a 403 for a wrong password; a 409 if
    ///   another account verified the address first.
    func verify(_ draft: EmailVerification, by requester: Identity?, from caller: ClientInfo) async throws {
        let token = try Self.token(draft.token)
        var checkedHash: String?
        if let password = draft.password, !password.isEmpty {
            let account = try await EmailLinkStore(db: database.reads).account(of: token.hash, for: .verify, at: now())
            guard let account else { throw Self.invalidLink }
            checkedHash = try await reauthentication.check(password, of: account)
        }
        try await database.transaction { db in
            let (links, accounts) = (EmailLinkStore(db: db), AccountSecretStore(db: db))
            guard let link = try await links.consume(token.hash, for: .verify, at: now()),
                let account = try await accounts.lock(link.account)
            else { throw Self.invalidLink }
            let address = try EmailAddress(link.address)
            var isProven = false
            if let checkedHash {
                isProven = try await accounts.passwordHash(of: link.account) == checkedHash
            } else if let requester, requester.user.accountID == link.account {
                try await reauthentication.requireLive(requester, in: db)
                isProven = true
            }
            if !isProven, account.email.map(NameFolding.fold) == address.folded {
                isProven = try await accounts.isEmailProven(link.account)
            }
            guard try await accounts.verify(address, of: link.account, isProven: isProven) else {
                throw Self.emailTaken
            }
            try await audit.record(.emailChanged, of: link.account, by: caller, in: db)
            if !account.emailVerified, let verified = try await AccountStore(db: db).find(link.account) {
                try await events.write(UserChanged(verified), in: db)
            }
            // The other links were sent to former or unconfirmed addresses, so a password reset must be requested
            // again.
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

    private static let emailTaken =
        APIError(.conflict, "email_taken", "this e-mail address already belongs to another account", field: "token")
    static let invalidLink = APIError.invalid(
        "token",
        "the link has been used or has expired; request a new one",
        code: "invalid_email_token"
    )
}
