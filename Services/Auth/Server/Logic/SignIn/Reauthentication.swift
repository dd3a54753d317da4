import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// Has somebody who is signed in show that he is no finder of an unlocked phone, before what could cost him the account.
///
/// He has signed in within the last five minutes, or he says his password, of which only so many may be wrong.
struct Reauthentication: Sendable {
    /// How long a sign-in is recent, in seconds.
    static let recent: TimeInterval = 300

    let database: PostgresPool
    let passwords: Passwords
    let throttle: LoginThrottle
    let now: @Sendable () -> Date

    /// - Throws: a 403 where neither is so; a 429 after too many wrong passwords.
    func require(_ password: String?, of identity: Identity) async throws {
        let account = try identity.user.requireAccountID()
        if let password {
            try await check(password, of: account)
            return
        }
        guard try await isRecent(identity, in: database.reads) else { throw Self.needed }
    }

    /// Whether somebody has signed in within the last five minutes, and not out again.
    func isRecent(_ identity: Identity, in db: any PostgresExecutor) async throws -> Bool {
        guard let session = UUID(uuidString: identity.session),
            let signedInAt = try await SessionStore(db: db).signedInAt(session, of: identity.user)
        else { return false }
        return now().timeIntervalSince(signedInAt) <= Self.recent
    }

    /// Makes sure that the session of a request has not ended since the request was admitted.
    ///
    /// For a transaction that adds a credential and has locked the account: a credential must not be added after
    /// `EarlierCredentials` has ended the session.
    ///
    /// - Throws: `session_ended`.
    func requireLive(_ identity: Identity, in db: PostgresTransaction) async throws {
        guard let session = UUID(uuidString: identity.session),
            try await SessionStore(db: db).signedInAt(session, of: identity.user) != nil
        else { throw APIError.sessionEnded }
    }

    static let needed = APIError(
        .forbidden,
        "recent_login_required",
        "this takes a sign-in of the last five minutes, or the password where it is asked for"
    )

    /// Compares a password with an account's own.
    ///
    /// - Returns: the hash that it was compared with.
    /// - Throws: a 403 where it is wrong or there is none; a 429 after too many.
    @discardableResult
    func check(_ password: String, of account: UUID, field: String = "password") async throws -> String {
        guard !password.isEmpty else { throw APIError.missing(field) }
        guard password.unicodeScalars.count <= Passwords.length.upperBound else {
            throw APIError.invalid(field, "a password has 8 to 128 characters", code: "password_length")
        }
        let hash = try await AccountSecretStore(db: database.reads).passwordHash(of: account)
        let buckets = throttle.buckets(of: "password", account: account)
        try await throttle.check(buckets, at: now(), in: database.reads)
        let share = HashingThreads.Share(account: account.wire)
        guard case .right = try await passwords.verify(password, against: hash, for: share), let hash else {
            try await throttle.count(buckets, at: now(), in: database)
            throw APIError(.forbidden, "wrong_password", "the password is wrong", field: field)
        }
        // Others may have failed meanwhile, and of many tries at once only the first are answered.
        try await throttle.check(buckets, at: now(), in: database)
        try await throttle.resetFailures(buckets, in: database)
        return hash
    }
}
