import AuthAPI
import COSE
import Credentials
import Crypto
import Foundation
import Postgres
import WebAuthn
import Wire

/// The rules of passkeys: adding, removing and signing in.
///
/// A passkey combines two factors, the device and its unlock method, so sign-in requires no further code.
struct Passkeys: Sendable {
    static let maximum = 20
    /// The timeout for the browser in milliseconds, the same as the lifetime of a challenge (`Nonces.lifetime`).
    static let timeout = Int(Nonces.lifetime * 1_000)
    /// The scope under which used challenges are stored, next to the applications' ids.
    private static let nonceScope = "passkeys"
    static let unnamed = "Passkey"

    /// The purpose of a challenge, which is valid for no other purpose.
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

    // MARK: Adding

    /// Returns the options with which a browser creates a passkey.
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

    func add(
        _ response: RegistrationResponse,
        named name: String?,
        by identity: Identity,
        from caller: ClientInfo
    ) async throws -> Passkey {
        let id = try identity.user.requireAccountID()
        let name = try Self.checked(name)
        let credential: RelyingParty.NewCredential
        do {
            credential = try party.register(response, challenge: response.claimedChallenge)
        } catch let error as WebAuthnError {
            throw APIError(.invalid, "invalid_passkey", error.text, field: error.field)
        }
        let passkey = PasskeyStore.Record(id: UUID(), account: id, credential: credential, name: name)
        try await database.transaction { db in
            try await consume(try response.claimedChallenge, for: .adding(id), in: db, or: Self.staleChallenge)
            // The lock keeps two concurrent requests from exceeding the limit.
            guard let account = try await AccountSecretStore(db: db).lock(id), !account.isAnonymous else {
                throw Self.anonymous
            }
            try await reauthentication.requireLive(identity, in: db)
            let store = PasskeyStore(db: db)
            guard try await store.list(of: id).count < Self.maximum else {
                throw APIError(.conflict, "too_many_passkeys", "an account may have at most \(Self.maximum) passkeys")
            }
            try await store.insert(passkey, at: now())
            try await audit.record(.passkeyAdded, by: identity, from: caller, detail: name, in: db)
            try await emailOutbox.sendNotice(.passkeyAdded, toOwnerOf: id, in: db)
        }
        emailOutbox.notify()
        return Passkey(
            id: passkey.id.wire,
            name: name,
            backedUp: credential.isBackedUp,
            createdAt: now(),
            lastUsedAt: nil
        )
    }

    func list(of user: User.ID) async throws -> Page<Passkey> {
        guard let id = user.accountID else { return Page([]) }
        return Page(try await PasskeyStore(db: database.reads).list(of: id))
    }

    /// Removes a passkey.
    ///
    /// - Throws: a 404 if the account has no such passkey; a 409 if it is the last sign-in method.
    func remove(_ id: String, by identity: Identity, from caller: ClientInfo) async throws {
        guard let account = identity.user.accountID, let passkey = UUID(uuidString: id), passkey.wire == id.lowercased()
        else { throw Self.notFound }
        try await database.transaction { db in
            // The lock keeps two concurrent requests from removing the last two sign-in methods.
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

    /// Returns the options with which a browser signs in; they are the same for every user.
    func requestOptions() -> PasskeyRequestOptions {
        PasskeyRequestOptions(
            challenge: nonces.make(for: Purpose.signingIn.name),
            timeout: Self.timeout,
            rpId: party.id
        )
    }

    /// Returns the account of a sign-in and consumes its challenge.
    ///
    /// - Throws: a 401 that does not reveal the reason; a 400 for a response that is not WebAuthn's.
    func account(of response: AuthenticationResponse, in db: any PostgresExecutor) async throws -> UUID {
        guard response.type == "public-key" else {
            throw APIError.invalid(
                "type",
                "the response is not from navigator.credentials.get()",
                code: "invalid_passkey"
            )
        }
        let store = PasskeyStore(db: db)
        guard let passkey = try await store.lock(response.rawId.bytes) else { throw Self.refused }
        let credential = RelyingParty.KnownCredential(
            id: response.rawId.bytes,
            publicKey: passkey.publicKey,
            signCount: passkey.signCount,
            userHandle: Self.handle(passkey.account)
        )
        do {
            let challenge = try response.claimedChallenge
            let result = try party.authenticate(response, challenge: challenge, by: credential)
            try await consume(challenge, for: .signingIn, in: db, or: Self.refused)
            try await store.use(credential.id, signCount: result.signCount, isBackedUp: result.isBackedUp, at: now())
            return passkey.account
        } catch is WebAuthnError {
            throw Self.refused
        }
    }

    /// Consumes a challenge that this server issued for this purpose and that has not expired.
    private func consume(
        _ challenge: String,
        for purpose: Purpose,
        in db: any PostgresExecutor,
        or failure: APIError
    ) async throws {
        guard case .valid(let hash, let until) = nonces.validate(challenge, of: purpose.name),
            // The row contains no user id, so an account deletion need not remove it.
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

    /// Returns the user handle that an authenticator stores: the bytes of the account's id, without personal data.
    private static func handle(_ account: UUID) -> Data { withUnsafeBytes(of: account.uuid) { Data($0) } }

    private static func checked(_ name: String?) throws -> String {
        guard let name else { return unnamed }
        guard !name.isEmpty else { throw APIError.missing("name") }
        guard (1...64).contains(name.unicodeScalars.count), !name.unicodeScalars.contains(where: \.isControl) else {
            throw APIError.invalid("name", "a passkey's name must have 1 to 64 characters", code: "name_length")
        }
        return name
    }

    private static let notFound = APIError(.notFound, "passkey_not_found", "the passkey does not exist")
    private static let anonymous =
        APIError(.conflict, "anonymous_account", "an anonymous account must be registered first")
    private static let refused = APIError(
        .unauthenticated,
        "invalid_passkey",
        "the passkey is not registered, or its response is not valid; start the sign-in again"
    )
    private static let staleChallenge =
        APIError(.invalid, "invalid_challenge", "the challenge has expired or was used; request new options")
}

extension WebAuthnError {
    fileprivate var field: String? { if case .malformed(let field) = self { field } else { nil } }

    /// The message for app developers.
    fileprivate var text: String {
        switch self {
        case .malformed(let field): "\(field) is malformed"
        case .wrongCeremony: "the response is not from navigator.credentials.create()"
        case .wrongChallenge: "the response is for another challenge"
        case .wrongOrigin: "the page's origin is not one of PASSKEY_ORIGINS"
        case .wrongRelyingParty: "the response is for another relying party"
        case .userNotPresent, .userNotVerified: "the authenticator must verify the user"
        case .unsupportedKey: "the key must be ES256, EdDSA or RS256"
        case .attestation: "attestation must be none, or packed and signed by the credential's own key"
        case .wrongSignature, .wrongCredential, .cloned: "the response does not match the credential"
        }
    }
}
