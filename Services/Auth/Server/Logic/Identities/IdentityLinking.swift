import AuthAPI
import Credentials
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of which account an account elsewhere belongs to.
///
/// An e-mail address alone takes over nothing: it must have been verified here and there, by a provider that is
/// believed about it. Else only who has just signed in to an account links to it.
///
/// A link by the address ends the credentials from before that may be another person's (`EarlierCredentials`).
struct IdentityLinking: Sendable {
    let events: EventOutbox
    let reauthentication: Reauthentication
    let earlierCredentials: EarlierCredentials
    let audit: Audit
    let now: @Sendable () -> Date

    /// How an account comes to an identity that has not been seen before.
    private enum LinkTarget {
        case new(UUID)
        /// An anonymous account becomes this person's.
        case upgraded(UUID)
        /// The user of the account links it.
        case requester(UUID)
        /// An account has the address that the provider vouches for.
        case sameAddress(UUID)
    }

    private static let taken = APIError(.conflict, "identity_taken", "this is linked to another account here")
    private static let another = APIError(
        .conflict,
        "provider_linked",
        "the account is linked to another one of this provider; unlink that first"
    )

    /// The account that an identity is of from now on, and whether it was made for it.
    ///
    /// - Throws: a 403 or 409 where it cannot be linked to the account of who asks.
    func account(
        of key: IdentityStore.Key,
        _ profile: ProviderProfile,
        token: TokenEncryptor.EncryptedValue?,
        by requester: Identity?,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws -> (id: UUID, isNew: Bool) {
        let store = IdentityStore(db: db)
        // Two first sign-ins at once would make two accounts.
        try await store.lock(key)
        let requesterAccount = try await requesterAccount(requester, in: db)
        let email = Self.email(of: profile)
        if let known = try await store.account(of: key) {
            // Who is nobody in particular yet becomes who he is.
            guard requesterAccount.map({ $0.isAnonymous || $0.userId == known.wire }) ?? true else { throw Self.taken }
            // It may have been unlinked since it was read: then it is a new one.
            if try await store.record(key, email: email?.text, token: token, at: now()) { return (known, false) }
        }
        let (account, isNew, notifiesOwner) =
            switch try await matchingAccount(of: profile, email, requesterAccount, requester, from: caller, in: db) {
            case .new(let id): (id, true, false)
            case .upgraded(let id): (id, false, false)
            case .requester(let id): (id, false, true)
            case .sameAddress(let id): (id, false, true)
            }
        guard try await store.insert(key, of: account, email: email?.text, token: token, at: now()) else {
            throw Self.another
        }
        let session = requester.flatMap { $0.user.accountID == account ? UUID(uuidString: $0.session) : nil }
        try await audit.record(
            .identityLinked,
            of: account,
            by: caller,
            session: session,
            detail: key.provider,
            in: db
        )
        if notifiesOwner { try await audit.emailOutbox.sendNotice(.identityLinked, toOwnerOf: account, in: db) }
        return (account, isNew)
    }

    private func requesterAccount(_ requester: Identity?, in db: PostgresTransaction) async throws -> Account? {
        guard let id = requester?.user.accountID else { return nil }
        guard let account = try await AccountStore(db: db).find(id) else { throw APIError.sessionEnded }
        return account
    }

    /// The account that an identity nobody has seen before is linked to.
    private func matchingAccount(
        of profile: ProviderProfile,
        _ email: EmailAddress?,
        _ requesterAccount: Account?,
        _ requester: Identity?,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws -> LinkTarget {
        let accounts = FederatedAccountStore(db: db)
        let verified = profile.isEmailVerified ? email : nil
        if let requesterAccount, let requester, !requesterAccount.isAnonymous, let id = requester.user.accountID {
            guard let account = try await AccountSecretStore(db: db).lock(id) else { throw APIError.sessionEnded }
            try await reauthentication.requireLive(requester, in: db)
            if account.emailVerified, let address = account.email, NameFolding.fold(address) == verified?.folded {
                // The holder of the account and the owner of the address are one person.
                try await AccountSecretStore(db: db).proveEmail(of: id)
            } else if try await !reauthentication.isRecent(requester, in: db) {
                throw Reauthentication.needed
            }
            return .requester(id)
        }
        if let verified, let existing = try await accounts.matchingAccount(of: verified) {
            try await earlierCredentials.end(of: existing, by: caller, in: db)
            return .sameAddress(existing)
        }
        let fullName = Self.fullName(of: profile)
        if requesterAccount != nil, let id = requester?.user.accountID {
            guard
                try await accounts.name(
                    id,
                    email: email,
                    fullName: fullName,
                    language: caller.language
                )
            else { throw Self.taken }
            try await finishRegistration(id, profile, verified, in: db)
            return .upgraded(id)
        }
        let id = UUID()
        try await accounts.insert(
            id,
            email: email,
            fullName: fullName,
            language: caller.language,
            at: now()
        )
        try await finishRegistration(id, profile, verified, in: db)
        return .new(id)
    }

    /// Has a new account be found by its verified address, and others hear of who it is.
    private func finishRegistration(
        _ id: UUID,
        _ profile: ProviderProfile,
        _ verified: EmailAddress?,
        in db: PostgresTransaction
    ) async throws {
        if let verified {
            // Another may have come by the address meanwhile: then it is not verified for this one.
            _ = try await AccountSecretStore(db: db).verify(verified, of: id, isProven: true)
        }
        guard let account = try await AccountStore(db: db).find(id) else { return }
        try await events.write(UserChanged(account, pictureUrl: Self.picture(of: profile)), in: db)
    }

    /// Nil for what is no address here, whatever it is there.
    private static func email(of profile: ProviderProfile) -> EmailAddress? {
        // Silence: without an address one signs in all the same.
        profile.email.flatMap { try? EmailAddress($0) }
    }

    /// A name of at most as many characters as names have here; nil for what is no name here.
    private static func fullName(of profile: ProviderProfile) -> FullName? {
        guard let name = profile.fullName else { return nil }
        let cut = String(String.UnicodeScalarView(name.unicodeScalars.prefix(FullName.length.upperBound)))
        // Silence: as above.
        return try? FullName(cut)
    }

    private static func picture(of profile: ProviderProfile) -> String? {
        guard let picture = profile.picture, picture.utf8.count <= 2_048, let parts = URLComponents(string: picture),
            ["https", "http"].contains(parts.scheme), parts.host?.isEmpty == false
        else { return nil }
        return picture
    }
}
