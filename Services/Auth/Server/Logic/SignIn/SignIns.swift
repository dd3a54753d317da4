import AuthAPI
import Foundation
import Metrics
import Postgres
import ServiceHost
import WebAuthn
import Wire

/// The next step after a valid first factor.
enum SignInStep<Output: Sendable>: Sendable {
    case done(Output)
    /// A second-factor code is required; the challenge identifies the sign-in.
    case secondFactor(challenge: String)

    func map<Other: Sendable>(_ transform: (Output) throws -> Other) rethrows -> SignInStep<Other> {
        switch self {
        case .done(let response): .done(try transform(response))
        case .secondFactor(let challenge): .secondFactor(challenge: challenge)
        }
    }
}

/// The rules of sign-in with a name and password, a passkey, or anonymously.
struct SignIns: Sendable {
    let database: PostgresPool
    let passwords: Passwords
    let throttle: LoginThrottle
    let issuer: TokenIssuer
    let secondFactors: SecondFactors
    let passkeys: Passkeys
    let events: EventOutbox
    let now: @Sendable () -> Date

    static let wrong = APIError(.unauthenticated, "invalid_login", "the username or password is wrong")
    private static let unverified = APIError(
        .unauthenticated,
        "email_not_verified",
        """
        the e-mail address is not verified; follow the link in the email, or request another email with \
        POST /auth/email/resend
        """
    )

    /// Signs in to a new anonymous account; a caller with an anonymous account signs in to that account again.
    func anonymous(_ draft: AnonymousDraft, by requester: User.ID?, from caller: ClientInfo) async throws -> SignIn {
        let device = try draft.deviceId.map { try DeviceID($0) }
        if let id = requester?.accountID, try await AccountStore(db: database.reads).find(id)?.isAnonymous == true {
            return try await database.transaction { db in
                try await self.issuer.signIn(id, on: device, from: caller, in: db)
            }
        }
        let id = UUID()
        return try await database.transaction { db in
            let store = AccountStore(db: db)
            let language = caller.language
            try await store.insertAnonymous(id: id, language: language, at: self.now())
            if language != nil, let account = try await store.find(id) {
                try await self.events.write(UserChanged(account), in: db)
            }
            return try await self.issuer.signIn(id, on: device, from: caller, in: db)
        }
    }

    /// Signs in with a username or verified e-mail address, and a password.
    ///
    /// An unknown name takes the same time and gets the same response as a wrong password. After too many failures even
    /// the right password is rejected, except from a known device. Logins per name are also limited when the password
    /// is right.
    ///
    /// The address and password of a registration with an unverified address get an error of their own. A login by
    /// address therefore costs two comparisons unless the first matches. One is with the account that verified the
    /// address, one with the newest registration that did not. Neither the response nor its time reveals whether
    /// another account has verified the address.
    ///
    /// If the account has a second factor, the response requests a code instead of returning tokens; only after the
    /// right password.
    func login(_ draft: LoginDraft, from caller: ClientInfo) async throws -> SignInStep<SignIn> {
        var faults = FieldErrors()
        if draft.username.isEmpty { faults.add(.missing("username")) }
        if draft.password.isEmpty { faults.add(.missing("password")) }
        try faults.finish()
        guard draft.username.unicodeScalars.count <= EmailAddress.maximumLength else {
            throw APIError.invalid("username", "a username must have 1 to 64 characters", code: "username_length")
        }
        guard draft.password.unicodeScalars.count <= Passwords.length.upperBound else {
            throw APIError.invalid("password", "a password must have 8 to 128 characters", code: "password_length")
        }
        let device = try draft.deviceId.map { try DeviceID($0) }

        let name = NameFolding.fold(draft.username)
        let token = draft.deviceToken.flatMap { DeviceToken($0) }
        let network = device?.hash(at: caller.address)
        let secret = try await AccountStore(db: database.reads).secret(of: name, token: token?.hash, network: network)
        let knownDevice = secret?.knownDevice
        let buckets = throttle.buckets(name: name, address: caller.address, knownDevice: knownDevice)
        do {
            try await throttle.check(buckets, at: now(), in: database.reads)
            try await throttle.countLogin(name: name, at: now(), in: database)
            let share = HashingThreads.Share(of: caller, account: name)
            var hashes = [secret?.passwordHash]
            if name.utf8.contains(UInt8(ascii: "@")) {
                let accounts = AccountStore(db: database.reads)
                hashes.append(try await accounts.newestUnverified(draft.username)?.passwordHash)
            }
            let found = try await passwords.firstMatch(draft.password, in: hashes, for: share)
            if found?.index == 1 {
                // Checked again, because parallel attempts may have failed meanwhile; only the first of them get a
                // result.
                try await throttle.check(buckets, at: now(), in: database)
                throw Self.unverified
            }
            guard let match = found, let secret, let hash = secret.passwordHash else {
                // One transaction in all cases, so that the response time does not reveal whether the account exists.
                let failure: APIError? = try await database.transaction { db in
                    try await self.issuer.audit.record(.signInFailed, of: secret?.id, by: caller, in: db)
                    do {
                        try await self.throttle.count(buckets, at: self.now(), in: db)
                        return nil
                    } catch let error as APIError {
                        return error
                    }
                }
                throw failure ?? Self.wrong
            }
            let step = try await database.transaction { db in
                // Checked again, because parallel attempts may have failed meanwhile; only the first of them get a
                // result.
                try await self.throttle.check(buckets, at: self.now(), in: db)
                let accounts = AccountStore(db: db)
                guard try await accounts.lockShared(secret.id, passwordHash: hash) else { throw Self.wrong }
                if let rehashed = match.rehashed {
                    try await accounts.replacePasswordHash(of: secret.id, hash, with: rehashed)
                }
                try await self.throttle.resetFailures(buckets, in: db)
                return try await self.step(
                    secret.id,
                    on: device,
                    knownBy: knownDevice,
                    keeping: knownDevice?.isToken == true ? token : nil,
                    from: caller,
                    in: db
                )
            }
            if case .done = step { Self.count("signed_in") } else { Self.count("mfa_required") }
            return step
        } catch let error as APIError {
            Self.count(error.code)
            throw error
        }
    }

    /// Signs in an account after any valid first factor, or requests the second factor if the account has one.
    ///
    /// Without `knownDevice`, the device is looked up by its id. It keeps `token`, or gets a new one.
    func step(
        _ account: UUID,
        on device: DeviceID?,
        knownBy knownDevice: KnownDevice? = nil,
        keeping token: DeviceToken? = nil,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws -> SignInStep<SignIn> {
        var knownDevice = knownDevice
        if knownDevice == nil, let network = device?.hash(at: caller.address),
            try await KnownDeviceStore(db: db).contains(network, of: account)
        {
            knownDevice = .network(network)
        }
        let challenge = try await secondFactors.challenge(
            for: account,
            device: device,
            knownDevice: knownDevice,
            in: db
        )
        if let challenge { return .secondFactor(challenge: challenge) }
        return .done(try await signIn(account, on: device, keeping: token, from: caller, in: db))
    }

    /// Completes a sign-in that requires a second factor.
    ///
    /// After too many wrong codes for the sign-in or the account, even the right code is rejected.
    func finish(_ draft: SecondFactorLogin, from caller: ClientInfo) async throws -> SignIn {
        let code = try SecondFactors.code(draft.code)
        do {
            let challenge = try await secondFactors.find(draft.challenge, from: caller)
            let signIn: SignIn? = try await database.transaction { db in
                guard try await self.secondFactors.consume(code, for: challenge, from: caller, in: db) else {
                    return nil
                }
                return try await self.signIn(challenge.account, on: challenge.device, from: caller, in: db)
            }
            guard let signIn else { try await secondFactors.refuse(challenge, from: caller) }
            Self.count("signed_in")
            return signIn
        } catch let error as APIError {
            Self.count(error.code)
            throw error
        }
    }

    /// Signs in with a passkey, which combines two factors and therefore requires no code.
    func login(_ response: AuthenticationResponse, on device: String?, from caller: ClientInfo) async throws -> SignIn {
        let device = try device.map { try DeviceID($0) }
        do {
            let signIn = try await database.transaction { db in
                let account = try await self.passkeys.account(of: response, in: db)
                return try await self.signIn(account, on: device, from: caller, in: db)
            }
            Self.count("signed_in")
            return signIn
        } catch let error as APIError {
            Self.count(error.code)
            throw error
        }
    }

    /// Opens a session after complete authentication, and stores the device as known for later logins.
    func signIn(
        _ account: UUID,
        on device: DeviceID?,
        keeping existing: DeviceToken? = nil,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws -> SignIn {
        var signIn = try await issuer.signIn(account, on: device, from: caller, in: db)
        let token = existing ?? .random()
        let hashes = [token.hash, device?.hash(at: caller.address)].compactMap(\.self)
        try await KnownDeviceStore(db: db).record(hashes, of: account, at: now(), maximum: KnownDevice.maximum)
        signIn.deviceToken = token.text
        return signIn
    }

    /// Counts a login by its outcome: `signed_in`, or the error code.
    private static func count(_ outcome: String) {
        Counter(label: "roost_auth_logins_total", dimensions: [("outcome", outcome)]).increment()
    }
}
