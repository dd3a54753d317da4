import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The second authentication of a signed-in user before a change that could cost them the account.
///
/// It protects against a person who uses an unlocked phone.
///
/// The user must have signed in within the last five minutes or send the password. Wrong passwords are throttled.
struct Reauthentication: Sendable {
    /// Seconds for which a sign-in counts as recent.
    static let recent: TimeInterval = 300

    let database: PostgresPool
    let passwords: Passwords
    let throttle: LoginThrottle
    let now: @Sendable () -> Date

    /// Requires a recent sign-in or the right password.
    ///
    /// - Throws: a 403 for neither; a 429 after too many wrong passwords.
    func require(_ password: String?, of identity: Identity) async throws {
        let account = try identity.user.requireAccountID()
        if let password {
            try await check(password, of: account)
            return
        }
        guard try await isRecent(identity, in: database.reads) else { throw Self.needed }
    }

    /// Returns whether the session signed in within the last five minutes and has not ended.
    func isRecent(_ identity: Identity, in db: any PostgresExecutor) async throws -> Bool {
        guard let session = UUID(uuidString: identity.session),
            let signedInAt = try await SessionStore(db: db).signedInAt(session, of: identity.user)
        else { return false }
        return now().timeIntervalSince(signedInAt) <= Self.recent
    }

    /// Checks that the session of a request has not ended since the request was admitted.
    ///
    /// Transactions that add a credential call this after locking the account: a credential must not be added after
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
        "the change requires a sign-in within the last five minutes; sign in again, or send \"password\" if the request "
            + "has that field"
    )

    /// Compares a password with the account's own.
    ///
    /// - Returns: the stored hash that matched.
    /// - Throws: a 403 for a wrong password or an account without one; a 429 after too many failures.
    @discardableResult
    func check(_ password: String, of account: UUID, field: String = "password") async throws -> String {
        guard !password.isEmpty else { throw APIError.missing(field) }
        guard password.unicodeScalars.count <= Passwords.length.upperBound else {
            throw APIError.invalid(field, "a password must have 8 to 128 characters", code: "password_length")
        }
        let hash = try await AccountSecretStore(db: database.reads).passwordHash(of: account)
        let buckets = throttle.buckets(of: "password", account: account)
        try await throttle.check(buckets, at: now(), in: database.reads)
        let share = HashingThreads.Share(account: account.wire)
        guard case .right = try await passwords.verify(password, against: hash, for: share), let hash else {
            try await throttle.count(buckets, at: now(), in: database)
            throw APIError(.forbidden, "wrong_password", "the password is wrong", field: field)
        }
        // Checked again, because parallel attempts may have failed meanwhile; only the first of them get a result.
        try await throttle.check(buckets, at: now(), in: database)
        try await throttle.resetFailures(buckets, in: database)
        return hash
    }
}
