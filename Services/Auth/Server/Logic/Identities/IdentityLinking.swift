import AuthAPI
import Credentials
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules that decide which account an external identity belongs to.
///
/// An e-mail address links an identity only if it was verified both here and by a provider that is trusted for it.
/// Otherwise only a user who has just signed in to an account can link an identity to it.
///
/// A link by address ends earlier credentials that may belong to another person (`EarlierCredentials`).
struct IdentityLinking: Sendable {
    let events: EventOutbox
    let reauthentication: Reauthentication
    let earlierCredentials: EarlierCredentials
    let audit: Audit
    let now: @Sendable () -> Date

    /// The account for an identity that is not linked yet.
    private enum LinkTarget {
        case new(UUID)
        /// The caller's anonymous account, which is registered by the sign-in.
        case upgraded(UUID)
        case requester(UUID)
        /// The account with the verified address that the provider vouches for.
        case sameAddress(UUID)
    }

    private static let linkedElsewhere = APIError(
        .conflict,
        "identity_taken",
        "the identity is linked to another account"
    )
    private static let providerLinked = APIError(
        .conflict,
        "provider_linked",
        "the account is linked to another identity of this provider; unlink it first"
    )

    /// Returns the account that the identity is linked to, after linking it if necessary, and whether the account is
    /// new.
    ///
    /// - Throws: a 403 or 409 if the identity cannot be linked to the caller's account.
    func account(
        of key: IdentityStore.Key,
        _ profile: ProviderProfile,
        token: TokenEncryptor.EncryptedValue?,
        by requester: Identity?,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws -> (id: UUID, isNew: Bool) {
        let store = IdentityStore(db: db)
        // The lock prevents two concurrent first sign-ins from creating two accounts.
        try await store.lock(key)
        let requesterAccount = try await requesterAccount(requester, in: db)
        let email = Self.email(of: profile)
        if let existing = try await store.account(of: key) {
            // The caller may be anonymous, or must be the user of the linked account.
            guard requesterAccount.map({ $0.isAnonymous || $0.userId == existing.wire }) ?? true else {
                throw Self.linkedElsewhere
            }
            // A concurrent request may have unlinked the identity; it is then linked like a new one.
            if try await store.record(key, email: email?.text, token: token, at: now()) { return (existing, false) }
        }
        let (account, isNew, notifiesOwner) =
            switch try await matchingAccount(of: profile, email, requesterAccount, requester, from: caller, in: db) {
            case .new(let id): (id, true, false)
            case .upgraded(let id): (id, false, false)
            case .requester(let id): (id, false, true)
            case .sameAddress(let id): (id, false, true)
            }
        guard try await store.insert(key, of: account, email: email?.text, token: token, at: now()) else {
            throw Self.providerLinked
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

    /// Returns the account to link a new identity to, creating or registering it if necessary.
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
                // The same verified address proves that the account's holder owns the address.
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
            else { throw Self.linkedElsewhere }
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

    /// Verifies the address of a new account, and publishes the user's names and avatar.
    private func finishRegistration(
        _ id: UUID,
        _ profile: ProviderProfile,
        _ verified: EmailAddress?,
        in db: PostgresTransaction
    ) async throws {
        if let verified {
            // Another account may have verified the address in the meantime; it then stays unverified for this account.
            _ = try await AccountSecretStore(db: db).verify(verified, of: id, isProven: true)
        }
        guard let account = try await AccountStore(db: db).find(id) else { return }
        try await events.write(UserChanged(account, pictureUrl: Self.picture(of: profile)), in: db)
    }

    /// Returns nil for an address that this server does not accept.
    private static func email(of profile: ProviderProfile) -> EmailAddress? {
        // The error is ignored, because sign-in does not need an address.
        profile.email.flatMap { try? EmailAddress($0) }
    }

    /// Returns the name, truncated to the maximum length; nil for a name that this server does not accept.
    private static func fullName(of profile: ProviderProfile) -> FullName? {
        guard let name = profile.fullName else { return nil }
        let cut = String(String.UnicodeScalarView(name.unicodeScalars.prefix(FullName.length.upperBound)))
        // The error is ignored, because sign-in does not need a name.
        return try? FullName(cut)
    }

    private static func picture(of profile: ProviderProfile) -> String? {
        guard let picture = profile.picture, picture.utf8.count <= 2_048, let parts = URLComponents(string: picture),
            ["https", "http"].contains(parts.scheme), parts.host?.isEmpty == false
        else { return nil }
        return picture
    }
}
