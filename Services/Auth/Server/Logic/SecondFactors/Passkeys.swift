import AuthAPI
import COSE
import Credentials
import Crypto
import Foundation
import Postgres
import WebAuthn
import Wire

/// The rules of passkeys: who may add one, and who signs in by one.
///
/// A passkey is two factors in one, the device and what unlocks it, so no code is asked for besides.
struct Passkeys: Sendable {
    /// How many an account may have.
    static let maximum = 20
    /// How long a browser may take, in milliseconds; a challenge counts as long (`Nonces.lifetime`).
    static let timeout = Int(Nonces.lifetime * 1_000)
    /// Under what used challenges are kept, beside those of applications.
    private static let nonceScope = "passkeys"
    /// What a passkey is called that has no name.
    static let unnamed = "Passkey"

    /// What a challenge was given out for, so that none counts for anything else.
    private enum Purpose {
        case adding(UUID)
        case signingIn

        var name: String {
            switch self {
            case .adding(let account): "passkey of \(account.wire)"
            case .signingIn: "sign-in by passkey"
            }
        }
    }

    let database: PostgresPool
    let party: RelyingParty
    let appName: String
    let nonces: Nonces
    let reauthentication: Reauthentication
    let emailOutbox: EmailOutbox
    let audit: Audit
    let now: @Sendable () -> Date

    // MARK: Adding one

    /// What a browser makes a passkey by.
    func options(_ draft: PasskeyOptionsDraft, by identity: Identity) async throws -> PasskeyCreationOptions {
        let account = try await registered(identity.user)
        let id = try identity.user.requireAccountID()
        try await reauthentication.require(draft.password, of: identity)
        let name = account.username ?? account.email ?? account.userId
        return PasskeyCreationOptions(
            rp: .init(party.id, named: appName),
            user: .init(Base64URL.encode(Self.handle(id)), named: name, shownAs: account.fullName ?? name),
            challenge: nonces.make(for: Purpose.adding(id).name),
            algorithms: COSEKey.Algorithm.allCases.map(\.rawValue),
            timeout: Self.timeout,
            excludeCredentials: try await PasskeyStore(db: database.reads).descriptors(of: id)
        )
    }

    /// Adds the passkey that a browser has made.
    func add(
        _ response: RegistrationResponse,
        named name: String?,
        by identity: Identity,
        from caller: ClientInfo
    ) async throws -> Passkey {
        let id = try identity.user.requireAccountID()
        let name = try Self.checked(name)
        let made: RelyingParty.NewCredential
        do {
            made = try party.register(response, challenge: response.claimedChallenge)
        } catch let error as WebAuthnError {
            throw APIError(.invalid, "invalid_passkey", error.text, field: error.field)
        }
        let passkey = PasskeyStore.Record(id: UUID(), account: id, credential: made, name: name)
        try await database.transaction { db in
            try await consume(try response.claimedChallenge, for: .adding(id), in: db, or: Self.staleChallenge)
            // Locked, so that two at once do not both come in below the bound.
            guard let account = try await AccountSecretStore(db: db).lock(id), !account.isAnonymous else {
                throw Self.anonymous
            }
            try await reauthentication.requireLive(identity, in: db)
            let store = PasskeyStore(db: db)
            guard try await store.list(of: id).count < Self.maximum else {
                throw APIError(.conflict, "too_many_passkeys", "an account has at most \(Self.maximum) passkeys")
            }
            try await store.insert(passkey, at: now())
            try await audit.record(.passkeyAdded, by: identity, from: caller, detail: name, in: db)
            try await emailOutbox.sendNotice(.passkeyAdded, toOwnerOf: id, in: db)
        }
        emailOutbox.notify()
        return Passkey(
            id: passkey.id.wire,
            name: name,
            backedUp: made.isBackedUp,
            createdAt: now(),
            lastUsedAt: nil
        )
    }

    func list(of user: User.ID) async throws -> Page<Passkey> {
        guard let id = user.accountID else { return Page([]) }
        return Page(try await PasskeyStore(db: database.reads).list(of: id))
    }

    /// - Throws: a 404 where it is not there, or another's; a 409 where there is no other way in.
    func remove(_ id: String, by identity: Identity, from caller: ClientInfo) async throws {
        guard let account = identity.user.accountID, let passkey = UUID(uuidString: id), passkey.wire == id.lowercased()
        else { throw Self.notFound }
        try await database.transaction { db in
            // Locked, so that of the last two ways in not each is taken for one that is left.
            guard try await AccountStore(db: db).lock(account),
                let name = try await PasskeyStore(db: db).delete(passkey, of: account)
            else { throw Self.notFound }
            guard try await FederatedAccountStore(db: db).signInMethods(of: account).hasAny else {
                throw Identities.lastSignInMethod
            }
            try await audit.record(.passkeyRemoved, by: identity, from: caller, detail: name, in: db)
        }
    }

    // MARK: Signing in

    /// What a browser signs in by; the same for everybody.
    func requestOptions() -> PasskeyRequestOptions {
        PasskeyRequestOptions(
            challenge: nonces.make(for: Purpose.signingIn.name),
            timeout: Self.timeout,
            rpId: party.id
        )
    }

    /// The account that a sign-in is of; its challenge is used up with it.
    ///
    /// - Throws: a 401, the same whatever is wrong with it; a 400 where it is none of WebAuthn's.
    func account(of response: AuthenticationResponse, in db: any PostgresExecutor) async throws -> UUID {
        guard response.type == "public-key" else {
            throw APIError.invalid("type", "this is no answer to navigator.credentials.get()", code: "invalid_passkey")
        }
        let store = PasskeyStore(db: db)
        guard let known = try await store.lock(response.rawId.bytes) else { throw Self.refused }
        let credential = RelyingParty.KnownCredential(
            id: response.rawId.bytes,
            publicKey: known.publicKey,
            signCount: known.signCount,
            userHandle: Self.handle(known.account)
        )
        do {
            let challenge = try response.claimedChallenge
            let seen = try party.authenticate(response, challenge: challenge, by: credential)
            try await consume(challenge, for: .signingIn, in: db, or: Self.refused)
            try await store.use(credential.id, signCount: seen.signCount, isBackedUp: seen.isBackedUp, at: now())
            return known.account
        } catch is WebAuthnError {
            throw Self.refused
        }
    }

    /// Uses up a challenge that was given out here for this, and not too long ago.
    private func consume(
        _ challenge: String,
        for purpose: Purpose,
        in db: any PostgresExecutor,
        or failure: APIError
    ) async throws {
        guard case .valid(let hash, let until) = nonces.validate(challenge, of: purpose.name),
            // Without whose it was: nothing is kept here that would have to go with him.
            try await SpentNonceStore(db: db).insert(hash, of: Self.nonceScope, until: until)
        else { throw failure }
    }

    private func registered(_ user: User.ID) async throws -> Account {
        let id = try user.requireAccountID()
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw Self.anonymous
        }
        return account
    }

    /// What an authenticator keeps of whose the passkey is: the id's bytes, which say nothing of him.
    private static func handle(_ account: UUID) -> Data { withUnsafeBytes(of: account.uuid) { Data($0) } }

    private static func checked(_ name: String?) throws -> String {
        guard let name else { return unnamed }
        guard !name.isEmpty else { throw APIError.missing("name") }
        guard (1...64).contains(name.unicodeScalars.count), !name.unicodeScalars.contains(where: \.isControl) else {
            throw APIError.invalid("name", "a passkey's name has 1 to 64 characters", code: "name_length")
        }
        return name
    }

    private static let notFound = APIError(.notFound, "passkey_not_found", "there is no such passkey")
    private static let anonymous =
        APIError(.conflict, "anonymous_account", "an anonymous account is registered first")
    private static let refused = APIError(.unauthenticated, "invalid_passkey", "this passkey does not sign in here")
    private static let staleChallenge =
        APIError(.invalid, "invalid_challenge", "this took too long, or was done already; begin anew")
}

extension WebAuthnError {
    fileprivate var field: String? { if case .malformed(let field) = self { field } else { nil } }

    /// For a person who writes an app.
    fileprivate var text: String {
        switch self {
        case .malformed(let field): "\(field) is malformed"
        case .wrongCeremony: "this is no answer to navigator.credentials.create()"
        case .wrongChallenge: "this answers another challenge"
        case .wrongOrigin: "this was made on a page that is not among PASSKEY_ORIGINS"
        case .wrongRelyingParty: "this was made for another site"
        case .userNotPresent, .userNotVerified: "the authenticator must verify who uses it"
        case .unsupportedKey: "the key is none of ES256, EdDSA and RS256"
        case .attestation: "attestation is none, or packed by the credential's own key"
        case .wrongSignature, .wrongCredential, .cloned: "the answer does not fit the credential"
        }
    }
}
