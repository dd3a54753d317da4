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
    let earlier: EarlierCredentials
    let audit: Audit
    let now: @Sendable () -> Date

    /// How an account comes to an identity that has not been seen before.
    private enum Holder {
        case new(UUID)
        /// An anonymous account becomes this person's.
        case named(UUID)
        /// The user of the account links it.
        case asking(UUID)
        /// An account has the address that the provider vouches for.
        case sharingAddress(UUID)
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
        _ vouched: Vouched,
        token: Sealer.Sealed?,
        by asking: Identity?,
        from caller: Caller,
        in db: PostgresTransaction
    ) async throws -> (id: UUID, isNew: Bool) {
        let store = IdentityStore(db: db)
        // Two first sign-ins at once would make two accounts.
        try await store.lock(key)
        let asker = try await asker(asking, in: db)
        let email = Self.email(of: vouched)
        if let known = try await store.account(of: key) {
            // Who is nobody in particular yet becomes who he is.
            guard asker.map({ $0.isAnonymous || $0.userId == known.wire }) ?? true else { throw Self.taken }
            // It may have been unlinked since it was read: then it is a new one.
            if try await store.note(key, email: email?.text, token: token, at: now()) { return (known, false) }
        }
        let (account, isNew, tellsOwner) =
            switch try await holder(of: vouched, email, asker, asking, from: caller, in: db) {
            case .new(let id): (id, true, false)
            case .named(let id): (id, false, false)
            case .asking(let id): (id, false, true)
            case .sharingAddress(let id): (id, false, true)
            }
        guard try await store.insert(key, of: account, email: email?.text, token: token, at: now()) else {
            throw Self.another
        }
        let session = asking.flatMap { $0.user.accountID == account ? UUID(uuidString: $0.session) : nil }
        try await audit.note(
            .identityLinked,
            of: account,
            by: caller,
            session: session,
            detail: key.provider,
            in: db
        )
        if tellsOwner { try await audit.mails.tell(.identityLinked, ownerOf: account, in: db) }
        return (account, isNew)
    }

    private func asker(_ asking: Identity?, in db: PostgresTransaction) async throws -> Account? {
        guard let id = asking?.user.accountID else { return nil }
        guard let account = try await AccountStore(db: db).find(id) else { throw APIError.sessionEnded }
        return account
    }

    /// The account that an identity nobody has seen before is linked to.
    private func holder(
        of vouched: Vouched,
        _ email: EmailAddress?,
        _ asker: Account?,
        _ asking: Identity?,
        from caller: Caller,
        in db: PostgresTransaction
    ) async throws -> Holder {
        let accounts = VouchedAccountStore(db: db)
        let verified = vouched.isEmailVerified ? email : nil
        if let asker, let asking, !asker.isAnonymous, let id = asking.user.accountID {
            guard let account = try await AccountSecretStore(db: db).lock(id) else { throw APIError.sessionEnded }
            try await reauthentication.requireLive(asking, in: db)
            if account.emailVerified, let address = account.email, NameFolding.fold(address) == verified?.folded {
                // The holder of the account and the owner of the address are one person.
                try await AccountSecretStore(db: db).proveEmail(of: id)
            } else if try await !reauthentication.isRecent(asking, in: db) {
                throw Reauthentication.needed
            }
            return .asking(id)
        }
        if let verified, let sharer = try await accounts.holder(of: verified) {
            try await earlier.end(of: sharer, by: caller, in: db)
            return .sharingAddress(sharer)
        }
        let fullName = Self.fullName(of: vouched)
        if asker != nil, let id = asking?.user.accountID {
            guard
                try await accounts.name(
                    id,
                    email: email,
                    fullName: fullName,
                    language: caller.language
                )
            else { throw Self.taken }
            try await settle(id, vouched, verified, in: db)
            return .named(id)
        }
        let id = UUID()
        try await accounts.insert(
            id,
            email: email,
            fullName: fullName,
            language: caller.language,
            at: now()
        )
        try await settle(id, vouched, verified, in: db)
        return .new(id)
    }

    /// Has a new account be found by its verified address, and others hear of who it is.
    private func settle(
        _ id: UUID,
        _ vouched: Vouched,
        _ verified: EmailAddress?,
        in db: PostgresTransaction
    ) async throws {
        if let verified {
            // Another may have come by the address meanwhile: then it is not verified for this one.
            _ = try await AccountSecretStore(db: db).verify(verified, of: id, isProven: true)
        }
        guard let account = try await AccountStore(db: db).find(id) else { return }
        try await events.write(UserChanged(account, pictureUrl: Self.picture(of: vouched)), in: db)
    }

    /// Nil for what is no address here, whatever it is there.
    private static func email(of vouched: Vouched) -> EmailAddress? {
        // Silence: without an address one signs in all the same.
        vouched.email.flatMap { try? EmailAddress($0) }
    }

    /// A name of at most as many characters as names have here; nil for what is no name here.
    private static func fullName(of vouched: Vouched) -> FullName? {
        guard let name = vouched.fullName else { return nil }
        let cut = String(String.UnicodeScalarView(name.unicodeScalars.prefix(FullName.length.upperBound)))
        // Silence: as above.
        return try? FullName(cut)
    }

    private static func picture(of vouched: Vouched) -> String? {
        guard let picture = vouched.picture, picture.utf8.count <= 2_048, let parts = URLComponents(string: picture),
            ["https", "http"].contains(parts.scheme), parts.host?.isEmpty == false
        else { return nil }
        return picture
    }
}
