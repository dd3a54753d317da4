import AuthAPI
import Foundation
import Metrics
import Postgres
import ServiceHost
import WebAuthn
import Wire

/// What a right first factor leads to.
enum SignInStep<Output: Sendable>: Sendable {
    case done(Output)
    /// A code is asked for; by this it is told which sign-in it is for.
    case secondFactor(challenge: String)

    func map<Other: Sendable>(_ transform: (Output) throws -> Other) rethrows -> SignInStep<Other> {
        switch self {
        case .done(let response): .done(try transform(response))
        case .secondFactor(let challenge): .secondFactor(challenge: challenge)
        }
    }
}

/// The rules of signing in: by name and password, or as nobody in particular.
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
        The email address is not verified yet. Follow the link in the mail, or request another mail with \
        POST /auth/email/resend.
        """
    )

    /// Signs in to a new account without a name; who is signed in to such a one already signs in to it again.
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

    /// Signs in by username, or verified e-mail address, and password.
    ///
    /// A name that is nobody's costs the same time and gets the same answer as a wrong password. Only so many failures
    /// are answered: past them not even the right password is, but from a device that has signed in before. Logins by one
    /// name are limited too when the password is right.
    ///
    /// The address and password of a registration whose address is not verified get an error of their own. An address
    /// therefore costs two comparisons unless the first one fits: with the account that verified it, and with the newest
    /// registration that did not. So neither response nor time tells whether another account has verified the address.
    ///
    /// Where the account has a second factor, that is asked for instead of tokens, and only to who knows the password.
    func login(_ draft: LoginDraft, from caller: ClientInfo) async throws -> SignInStep<SignIn> {
        var faults = FieldErrors()
        if draft.username.isEmpty { faults.add(.missing("username")) }
        if draft.password.isEmpty { faults.add(.missing("password")) }
        try faults.finish()
        guard draft.username.unicodeScalars.count <= EmailAddress.maximumLength else {
            throw APIError.invalid("username", "a username has 1 to 64 characters", code: "username_length")
        }
        guard draft.password.unicodeScalars.count <= Passwords.length.upperBound else {
            throw APIError.invalid("password", "a password has 8 to 128 characters", code: "password_length")
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
                // Others may have failed meanwhile, and of many tries at once only the first are answered.
                try await throttle.check(buckets, at: now(), in: database)
                throw Self.unverified
            }
            guard let match = found, let secret, let hash = secret.passwordHash else {
                // One transaction, whether there is such an account or not, so that the time of it tells nobody.
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
                // Others may have failed meanwhile, and of many tries at once only the first are answered.
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

    /// Signs in an account whose first factor was right, whichever it was; or asks for the second, where it has one.
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

    /// Ends a sign-in that was asked for its second factor.
    ///
    /// Only so many wrong codes are answered for a sign-in, and for an account: past those not even the right one is.
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

    /// Signs in by a passkey, which is two factors in one: no code is asked for besides.
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

    /// Signs in an account that has shown all that is asked of it, and recognises its device at the next login.
    func signIn(
        _ account: UUID,
        on device: DeviceID?,
        keeping known: DeviceToken? = nil,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws -> SignIn {
        var signIn = try await issuer.signIn(account, on: device, from: caller, in: db)
        let token = known ?? .random()
        let hashes = [token.hash, device?.hash(at: caller.address)].compactMap(\.self)
        try await KnownDeviceStore(db: db).remember(hashes, of: account, at: now(), maximum: KnownDevice.maximum)
        signIn.deviceToken = token.text
        return signIn
    }

    /// Counts a login by what came of it: `signed_in`, or the code of the error.
    private static func count(_ outcome: String) {
        Counter(label: "roost_auth_logins_total", dimensions: [("outcome", outcome)]).increment()
    }
}
