import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The rules of e-mail addresses: one is an account's own when its owner has followed the link that was sent there, and
/// not before.
struct EmailAddresses: Sendable {
    let database: PostgresPool
    let mails: Mails
    let reauthentication: Reauthentication
    let audit: Audit
    let now: @Sendable () -> Date

    /// Sends a link to an address, which becomes the account's when it is followed; until then nothing changes.
    ///
    /// Answers alike for an address that is somebody else's: its owner is told instead.
    func change(_ draft: EmailDraft, by identity: Identity) async throws {
        let address = try EmailAddress(draft.email)
        let id = try identity.user.ownAccount()
        try mails.require()
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw APIError(.conflict, "anonymous_account", "an anonymous account gets its address by registering")
        }
        try await reauthentication.require(draft.password, of: identity)
        try await mails.count(id, in: database)
        try await database.transaction { db in
            try await mails.write(.verify, to: address, about: id, in: db)
        }
        mails.ring()
    }

    /// Makes the address that a link was sent to the account's own: it signs in by it from now on.
    ///
    /// - Throws: a 400 for a link that was used, is too old, or is none; a 409 where another account was faster.
    func verify(_ draft: EmailVerification, from caller: Caller) async throws {
        let token = try Self.token(draft.token)
        try await database.transaction { db in
            let (links, accounts) = (MailLinkStore(db: db), AccountSecretStore(db: db))
            guard let link = try await links.take(token.hash, for: .verify, at: now()),
                let account = try await accounts.lock(link.account)
            else { throw Self.worthless }
            let address = try EmailAddress(link.address)
            guard try await accounts.verify(address, of: link.account) else { throw Self.taken }
            try await audit.note(.emailChanged, of: link.account, by: caller, in: db)
            // All others were sent to an address that it had or might have had; a new password is asked for anew.
            try await links.delete(of: link.account)
            if account.emailVerified, let former = account.email, NameFolding.fold(former) != address.folded {
                try await mails.tell(.emailChanged, formerly: former, of: link.account, in: db)
            }
        }
        mails.ring()
    }

    static func token(_ text: String) throws -> MailToken {
        guard !text.isEmpty else { throw APIError.missing("token") }
        guard let token = MailToken(text) else { throw worthless }
        return token
    }

    private static let taken =
        APIError(.conflict, "email_taken", "this address belongs to another account already", field: "token")
    static let worthless = APIError.invalid(
        "token",
        "this link was used already, or is too old; ask for another",
        code: "invalid_token"
    )
}
