import AuthAPI
import Credentials
import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of the second factor: an authenticator app, and codes on paper for who has lost it.
struct SecondFactors: Sendable {
    /// How long a sign-in waits for its second factor, in seconds.
    static let challengeLifetime: TimeInterval = 300
    /// Wrong codes that one sign-in may have.
    static let attempts = 5
    /// Bytes of base64url that a code or a challenge may have.
    static let maximumLength = 128

    let database: PostgresPool
    let encryptor: TokenEncryptor
    let reauthentication: Reauthentication
    let throttle: LoginThrottle
    let emailOutbox: EmailOutbox
    let audit: Audit
    let appName: String
    let now: @Sendable () -> Date

    /// A sign-in that waits, as it was found by what the client was given.
    struct Challenge: Sendable {
        fileprivate let hash: Data
        let account: UUID
        let device: DeviceID?
        fileprivate let buckets: LoginThrottle.Buckets
    }

    // MARK: Setting it up

    /// A secret for an authenticator app; signing in takes no code before one of it was shown.
    func begin(_ draft: TOTPDraft, by identity: Identity) async throws -> NewTOTP {
        let id = try identity.user.requireAccountID()
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw APIError(.conflict, "anonymous_account", "an anonymous account is registered first")
        }
        try await reauthentication.require(draft.password, of: identity)
        let totp = TOTP.random()
        let ciphertext = try encryptor.seal(totp.secret, for: Self.owner(id))
        guard try await SecondFactorStore(db: database).insert(ciphertext, of: id, at: now()) else {
            throw Self.alreadyEnabled
        }
        let name = account.username ?? account.email ?? account.userId
        return NewTOTP(secret: Base32.encode(totp.secret), uri: totp.uri(issuer: appName, account: name))
    }

    /// Turns it on, once the app has shown that it has the secret.
    func confirm(
        _ draft: SecondFactorCode,
        by identity: Identity,
        from caller: ClientInfo
    ) async throws -> RecoveryCodes {
        let id = try identity.user.requireAccountID()
        let code = try Self.code(draft.code)
        let store = SecondFactorStore(db: database.reads)
        guard let factor = try await store.find(id) else { throw Self.notEnabled }
        guard !factor.isConfirmed else { throw Self.alreadyEnabled }
        let buckets = buckets(of: id)
        try await throttle.check(buckets, at: now(), in: database.reads)
        guard let period = try totp(factor, of: id).period(of: code, at: now()) else {
            try await throttle.count(buckets, at: now(), in: database)
            throw APIError.invalid("code", "the code is wrong, or the phone's clock is", code: "invalid_mfa_code")
        }
        let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode.random() }
        try await database.transaction { db in
            let store = SecondFactorStore(db: db)
            guard try await store.confirm(id, period: period, at: now()) else { throw Self.alreadyEnabled }
            try await store.replaceRecoveryCodes(of: id, with: codes.map { $0.hash(for: id) })
            try await audit.record(.totpAdded, by: identity, from: caller, in: db)
            try await emailOutbox.sendNotice(.secondFactorOn, toOwnerOf: id, in: db)
            try await throttle.resetFailures(buckets, in: db)
        }
        emailOutbox.notify()
        return RecoveryCodes(recoveryCodes: codes.map(\.text))
    }

    /// Turns it off, by a code of it or a recovery code.
    func remove(_ draft: SecondFactorCode, by identity: Identity, from caller: ClientInfo) async throws {
        let id = try identity.user.requireAccountID()
        let code = try Self.code(draft.code)
        guard try await SecondFactorStore(db: database.reads).isConfirmed(id) else { throw Self.notEnabled }
        let buckets = buckets(of: id)
        try await throttle.check(buckets, at: now(), in: database.reads)
        let isRight = try await database.transaction { db in
            // Counted before it is answered: of many tries at once only the first few are.
            try await throttle.count(buckets, at: now(), in: db)
            guard try await consume(code, of: id, from: caller, in: db) else { return false }
            try await SecondFactorStore(db: db).delete(of: id)
            try await LoginChallengeStore(db: db).delete(of: id)
            try await audit.record(.totpRemoved, by: identity, from: caller, in: db)
            try await emailOutbox.sendNotice(.secondFactorOff, toOwnerOf: id, in: db)
            try await throttle.resetFailures(buckets, in: db)
            return true
        }
        guard isRight else {
            throw APIError(.forbidden, "invalid_mfa_code", "the code is wrong, or was used before", field: "code")
        }
        emailOutbox.notify()
    }

    /// Nil where signing in takes none.
    func show(_ user: User.ID) async throws -> SecondFactorSummary? {
        try await SecondFactorStore(db: database.reads).summary(of: user.requireAccountID())
    }

    // MARK: Signing in

    /// What a sign-in has to answer by a code, where the account asks for one; nil where it asks for none.
    func challenge(
        for account: UUID,
        device: DeviceID?,
        knownDevice: KnownDevice?,
        in db: any PostgresExecutor
    ) async throws -> String? {
        guard try await SecondFactorStore(db: db).isConfirmed(account) else { return nil }
        let challenge = Base64URL.random(bytes: 32)
        try await LoginChallengeStore(db: db).insert(
            Self.hash(challenge),
            of: account,
            device: device,
            knownDevice: knownDevice,
            until: now().addingTimeInterval(Self.challengeLifetime)
        )
        return challenge
    }

    /// The sign-in that a challenge is of.
    ///
    /// - Throws: a 401 where it is none, or too old; a 429 where the account had too many wrong codes, but on a device
    ///   that has signed in before.
    func find(_ challenge: String, from caller: ClientInfo) async throws -> Challenge {
        guard !challenge.isEmpty else { throw APIError.missing("challenge") }
        guard challenge.utf8.count <= Self.maximumLength else { throw Self.invalidChallenge }
        let hash = Self.hash(challenge)
        let found = try await LoginChallengeStore(db: database.reads)
            .find(hash, failuresBelow: Self.attempts, at: now())
        guard let found else { throw Self.invalidChallenge }
        let device = try found.device.map { try DeviceID($0) }
        let buckets = buckets(of: found.account, address: caller.address, knownDevice: found.knownDevice)
        try await throttle.check(buckets, at: now(), in: database.reads)
        return Challenge(hash: hash, account: found.account, device: device, buckets: buckets)
    }

    /// Whether a code is right; uses it and the challenge up if so, and else counts it.
    ///
    /// - Throws: a 401 where the challenge had enough codes, or was used; a 429 where the account had enough.
    func consume(
        _ code: String,
        for challenge: Challenge,
        from caller: ClientInfo,
        in db: any PostgresExecutor
    ) async throws -> Bool {
        // Counted before it is answered, and others wait until that is written: of many tries at once only the first few are
        // answered.
        try await throttle.check(challenge.buckets, at: now(), in: db)
        try await throttle.count(challenge.buckets.ownOnly, at: now(), in: db)
        let challenges = LoginChallengeStore(db: db)
        guard try await challenges.count(challenge.hash, failuresBelow: Self.attempts) else {
            throw Self.invalidChallenge
        }
        guard try await consume(code, of: challenge.account, from: caller, in: db) else { return false }
        try await challenges.delete(challenge.hash)
        try await throttle.resetFailures(challenge.buckets, in: db)
        return true
    }

    /// Takes note of a wrong code, and counts it where it came from.
    ///
    /// - Throws: a 401, or a 429 where that was one too many.
    func refuse(_ challenge: Challenge, from caller: ClientInfo) async throws -> Never {
        // Somebody has the first factor: its owner is to know, whoever it was.
        let account = challenge.account
        try await audit.record(.signInFailed, of: account, by: caller, detail: "second factor", in: database)
        if let shared = challenge.buckets.sharedOnly { try await throttle.count(shared, at: now(), in: database) }
        throw APIError(.unauthenticated, "invalid_mfa_code", "the code is wrong, or was used before", field: "code")
    }

    static func code(_ text: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing("code") }
        guard text.utf8.count <= maximumLength else {
            throw APIError.invalid("code", "a code is shorter", code: "code_length")
        }
        return text
    }

    /// Takes a code of the app, or a recovery code, once.
    private func consume(
        _ code: String,
        of account: UUID,
        from caller: ClientInfo,
        in db: any PostgresExecutor
    ) async throws -> Bool {
        let store = SecondFactorStore(db: db)
        guard let factor = try await store.find(account), factor.isConfirmed else { return false }
        // As some apps show it, in two halves.
        if let period = try totp(factor, of: account).period(of: code.filter { $0 != " " }, at: now()) {
            return try await store.consume(period: period, of: account)
        }
        guard let recovery = RecoveryCode(typed: code),
            try await store.consume(recoveryCode: recovery.hash(for: account), of: account)
        else { return false }
        try await audit.record(.recoveryCodeUsed, of: account, by: caller, in: db)
        return true
    }

    private func totp(_ factor: SecondFactorStore.Record, of account: UUID) throws -> TOTP {
        TOTP(secret: try encryptor.open(factor.encryptedSecret, for: Self.owner(account)))
    }

    private func buckets(
        of account: UUID,
        address: IPAddress? = nil,
        knownDevice: KnownDevice? = nil
    ) -> LoginThrottle.Buckets {
        throttle.buckets(of: "second factor", account: account, address: address, knownDevice: knownDevice)
    }

    static let encrypted = Reencryption.Column(
        "totp_factors",
        value: "encrypted_secret",
        keyID: "encryption_key_id",
        columns: ["user_id"]
    ) { columns in
        UUID(uuidString: columns[0]).map(owner)
    }

    private static func hash(_ challenge: String) -> Data { Data(SHA256.hash(data: Data(challenge.utf8))) }

    private static func owner(_ account: UUID) -> String { "totp of \(account.wire)" }

    private static let invalidChallenge =
        APIError(.unauthenticated, "invalid_challenge", "this sign-in is too old, or was finished; begin anew")
    private static let alreadyEnabled =
        APIError(.conflict, "mfa_already_enabled", "there is an authenticator app already; remove it first")
    private static let notEnabled = APIError(.notFound, "mfa_not_enabled", "there is no authenticator app")
}
