import AuthAPI
import Credentials
import Crypto
import Foundation
import Postgres
import ServiceHost
import Wire

/// The rules of the second factor: an authenticator app, and recovery codes for a lost app.
struct SecondFactors: Sendable {
    /// Seconds until a sign-in that waits for its second factor expires.
    static let challengeLifetime: TimeInterval = 300
    static let attempts = 5
    /// The longest code or challenge in a request, in bytes.
    static let maximumLength = 128

    let database: PostgresPool
    let encryptor: TokenEncryptor
    let reauthentication: Reauthentication
    let throttle: LoginThrottle
    let emailOutbox: EmailOutbox
    let audit: Audit
    let appName: String
    let now: @Sendable () -> Date

    struct Challenge: Sendable {
        fileprivate let hash: Data
        let account: UUID
        let device: DeviceID?
        fileprivate let buckets: LoginThrottle.Buckets
    }

    // MARK: Setup

    /// Returns a new secret for an authenticator app; sign-in requires codes only after `confirm`.
    func begin(_ draft: TOTPDraft, by identity: Identity) async throws -> NewTOTP {
        let id = try identity.user.requireAccountID()
        guard let account = try await AccountStore(db: database.reads).find(id), !account.isAnonymous else {
            throw APIError(.conflict, "anonymous_account", "an anonymous account must be registered first")
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

    /// Enables the second factor after a code has shown that the app has the secret.
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
            throw APIError.invalid("code", "the code is wrong, or the phone's clock is wrong", code: "invalid_mfa_code")
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

    /// Disables the second factor with a code of the app or a recovery code.
    func remove(_ draft: SecondFactorCode, by identity: Identity, from caller: ClientInfo) async throws {
        let id = try identity.user.requireAccountID()
        let code = try Self.code(draft.code)
        guard try await SecondFactorStore(db: database.reads).isConfirmed(id) else { throw Self.notEnabled }
        let buckets = buckets(of: id)
        try await throttle.check(buckets, at: now(), in: database.reads)
        let isRight = try await database.transaction { db in
            // Counted before the check, so that of many parallel attempts only the first few are checked.
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
            throw APIError(.forbidden, "invalid_mfa_code", "the code is wrong or was already used", field: "code")
        }
        emailOutbox.notify()
    }

    /// Returns the second factor of the user; nil if sign-in requires no code.
    func show(_ user: User.ID) async throws -> SecondFactorSummary? {
        try await SecondFactorStore(db: database.reads).summary(of: user.requireAccountID())
    }

    // MARK: Signing in

    /// Returns the challenge of a sign-in; nil if the account has no second factor.
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

    /// Returns the sign-in of a challenge.
    ///
    /// - Throws: a 401 for an unknown or expired challenge; a 429 if the account had too many wrong codes, except on a
    ///   known device.
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

    /// Returns whether a code is right.
    ///
    /// A right code and its challenge are consumed; a wrong code is counted.
    ///
    /// - Throws: a 401 if the challenge was used or had too many wrong codes; a 429 if the account had too many.
    func consume(
        _ code: String,
        for challenge: Challenge,
        from caller: ClientInfo,
        in db: any PostgresExecutor
    ) async throws -> Bool {
        // Counted before the check; parallel attempts wait for the row lock. Only the first few attempts are therefore
        // checked.
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

    /// Records and counts a wrong code.
    ///
    /// - Throws: a 401, or a 429 if the limit is exceeded.
    func refuse(_ challenge: Challenge, from caller: ClientInfo) async throws -> Never {
        // The caller has the first factor, so the account's owner must see the failure.
        let account = challenge.account
        try await audit.record(.signInFailed, of: account, by: caller, detail: "second factor", in: database)
        if let shared = challenge.buckets.sharedOnly { try await throttle.count(shared, at: now(), in: database) }
        throw APIError(.unauthenticated, "invalid_mfa_code", "the code is wrong or was already used", field: "code")
    }

    static func code(_ text: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing("code") }
        guard text.utf8.count <= maximumLength else {
            throw APIError.invalid("code", "a code must have at most \(maximumLength) bytes", code: "code_length")
        }
        return text
    }

    /// Returns whether a code of the app or a recovery code is right and unused, and consumes it.
    private func consume(
        _ code: String,
        of account: UUID,
        from caller: ClientInfo,
        in db: any PostgresExecutor
    ) async throws -> Bool {
        let store = SecondFactorStore(db: db)
        guard let factor = try await store.find(account), factor.isConfirmed else { return false }
        // Some apps show the code in two groups with a space.
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
        APIError(.unauthenticated, "invalid_challenge", "the sign-in has expired or is complete; start again")
    private static let alreadyEnabled =
        APIError(.conflict, "mfa_already_enabled", "the account already has an authenticator app; remove it first")
    private static let notEnabled = APIError(.notFound, "mfa_not_enabled", "the account has no authenticator app")
}
