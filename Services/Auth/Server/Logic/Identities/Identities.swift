import AuthAPI
import Credentials
import Foundation
import Metrics
import Postgres
import ServiceHost
import Wire

/// The rules of sign-in with external providers: which account an external identity signs in to, and how links end.
struct Identities: Sendable {
    let database: PostgresPool
    let encryptor: TokenEncryptor
    let providers: [String: any IdentityProvider]
    let redirectURLs: Set<String>
    let consents: Consents
    let linking: IdentityLinking
    let throttle: LoginThrottle
    let signIns: SignIns
    let now: @Sendable () -> Date

    static let unknownProvider = APIError(.notFound, "provider_not_found", "this sign-in provider is not configured")

    /// Signs in with an external identity, which is linked to the caller's account or gets a new account.
    func signIn(
        _ draft: IdentityDraft,
        at name: String,
        by requester: Identity?,
        from caller: ClientInfo
    ) async throws -> SignInStep<IdentitySignIn> {
        guard let provider = providers[name] else { throw Self.unknownProvider }
        _ = try requester?.user.requireAccountID()
        let device = try draft.deviceId.map { try DeviceID($0) }
        let suggested = try draft.fullName.map { try FullName($0) }
        let submittedProof = try draft.submittedProof(redirectURLs: redirectURLs)
        do {
            var profile = try await throttled(to: caller) {
                try await identify(submittedProof, draft.iss, by: provider)
            }
            profile.fullName = profile.fullName ?? suggested?.text
            let step = try await finish(profile, at: provider.name, by: requester, on: device, from: caller)
            if case .done = step {
                Self.count(provider.name, "signed_in")
            } else {
                Self.count(provider.name, "mfa_required")
            }
            return step
        } catch let error as APIError {
            Self.count(provider.name, error.code)
            throw error
        }
    }

    /// Requests the user's profile from the provider, before any transaction begins.
    private func identify(
        _ submittedProof: IdentityDraft.SubmittedProof,
        _ iss: String?,
        by provider: any IdentityProvider
    ) async throws -> ProviderProfile {
        switch submittedProof {
        case .proof(let proof):
            if case .code = proof { try await provider.check(issuer: iss) }
            return try await provider.identify(proof)
        case .authorization(let text, let verifier):
            let (code, fullName) = try await consents.consume(text, verifier: verifier, at: provider.name)
            var profile = try await provider.identify(.code(code))
            profile.fullName = profile.fullName ?? fullName
            return profile
        }
    }

    /// Throttles rejected proofs per client address, because a check costs the server more than the client.
    private func throttled(
        to caller: ClientInfo,
        _ body: () async throws -> ProviderProfile
    ) async throws -> ProviderProfile {
        guard let buckets = throttle.buckets(address: caller.address) else { return try await body() }
        try await throttle.check(buckets, at: now(), in: database.reads)
        do {
            return try await body()
        } catch let error as APIError where error.kind == .unauthenticated {
            try await throttle.count(buckets, at: now(), in: database)
            throw error
        }
    }

    private func finish(
        _ profile: ProviderProfile,
        at provider: String,
        by requester: Identity?,
        on device: DeviceID?,
        from caller: ClientInfo
    ) async throws -> SignInStep<IdentitySignIn> {
        guard (1...255).contains(profile.subject.unicodeScalars.count), !profile.subject.contains("\0") else {
            throw ProofError.claims
        }
        let key = IdentityStore.Key(provider: provider, subject: profile.subject)
        let token = try profile.refreshToken.map {
            try encryptor.seal(Data($0.utf8), for: IdentityRevocations.owner(key))
        }
        return try await database.transaction { db in
            let (account, isNew) = try await linking.account(
                of: key,
                profile,
                token: token,
                by: requester,
                from: caller,
                in: db
            )
            // An external identity is a first factor, like a password.
            let step: SignInStep =
                if let requester, try await isRecentlyAuthenticated(requester, of: account, in: db) {
                    .done(try await signIns.signIn(account, on: device, from: caller, in: db))
                } else {
                    try await signIns.step(account, on: device, from: caller, in: db)
                }
            return step.map { IdentitySignIn($0, created: isNew) }
        }
    }

    /// Returns whether the request comes from a session of the same account that is so recent that it needs no second
    /// factor.
    private func isRecentlyAuthenticated(
        _ requester: Identity,
        of account: UUID,
        in db: any PostgresExecutor
    ) async throws -> Bool {
        guard requester.user.accountID == account else { return false }
        return try await linking.reauthentication.isRecent(requester, in: db)
    }

    func list(of user: User.ID) async throws -> Page<LinkedIdentity> {
        Page(try await IdentityStore(db: database.reads).list(of: user.requireAccountID()))
    }

    /// Unlinks a provider from the account, unless it is the account's last sign-in method.
    func unlink(_ provider: String, by identity: Identity, from caller: ClientInfo) async throws {
        let account = try identity.user.requireAccountID()
        try await database.transaction { db in
            guard try await AccountStore(db: db).lock(account) else { throw Self.notLinked }
            guard try await IdentityStore(db: db).delete(of: account, at: provider, now: now()) == 1 else {
                throw Self.notLinked
            }
            guard try await FederatedAccountStore(db: db).signInMethods(of: account).hasAny else {
                throw Self.lastSignInMethod
            }
            let audit = linking.audit
            try await audit.record(.identityUnlinked, by: identity, from: caller, detail: provider, in: db)
        }
    }

    /// Unlinks all providers of an account that is being deleted.
    ///
    /// The tokens are queued for revocation in the same transaction.
    func unlinkAll(of account: UUID, in db: any PostgresExecutor) async throws {
        _ = try await IdentityStore(db: db).delete(of: account, at: nil, now: now())
    }

    static let lastSignInMethod =
        APIError(.conflict, "last_sign_in_method", "this is the account's last sign-in method; add another one first")
    private static let notLinked = APIError(.notFound, "identity_not_found", "no identity of this provider is linked")

    /// Counts a sign-in by its outcome: `signed_in`, or the error code.
    private static func count(_ provider: String, _ outcome: String) {
        Counter(
            label: "roost_auth_identity_sign_ins_total",
            dimensions: [("provider", provider), ("outcome", outcome)]
        ).increment()
    }
}
