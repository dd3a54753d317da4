import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The opening of sessions and the issuing of their tokens.
struct TokenIssuer: Sendable {
    /// The most sessions of one account; a further sign-in ends the least recently used one.
    static let maximumSessions = 100
    /// The most surplus sessions that one sign-in ends; an account may have many from an earlier release.
    private static let batch = 1_000

    let keys: SigningKeys
    let refreshTokenTags: RefreshTokenTags
    /// The `iss` of access tokens.
    let issuer: String
    /// In seconds.
    let accessTokenLifetime: Int
    /// In seconds.
    let sessionLifetime: Int
    let sessionRevocations: SessionRevocations
    let audit: Audit
    let now: @Sendable () -> Date

    /// Opens a session of an authenticated account.
    ///
    /// - Throws: `account_disabled`, a 403, if the operator has disabled the account; a 401 if it was just deleted.
    func signIn(
        _ account: UUID,
        on device: DeviceID?,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws -> SignIn {
        guard let isDisabled = try await AccountStore(db: db).isDisabled(account) else { throw SignIns.wrong }
        guard !isDisabled else { throw APIError(.forbidden, "account_disabled", "this account has been disabled") }
        let now = now()
        let session = SessionStore.Record(
            id: UUID(),
            user: User.ID(application: RoostApplication.id, user: account.wire),
            deviceID: device?.text,
            platform: nil,
            userAgent: caller.userAgent,
            createdAt: now,
            lastSeenAt: now,
            expiresAt: now.addingTimeInterval(TimeInterval(sessionLifetime))
        )
        let surplus = try await SessionStore(db: db)
            .lockSurplus(of: session.user, keeping: Self.maximumSessions - 1, limit: Self.batch)
        try await sessionRevocations.end(surplus, of: session.user, in: db)
        try await SessionStore(db: db).insert(session)
        try await audit.record(signIn: session, of: account, by: caller, in: db)
        let first = RefreshToken(for: session.id, tags: refreshTokenTags)
        try await RefreshTokenStore(db: db).insert(first.hash, in: session.id, at: now)
        return try await tokens(of: session, refreshToken: first, in: db)
    }

    func tokens(
        of session: SessionStore.Record,
        refreshToken: RefreshToken,
        in db: PostgresTransaction
    ) async throws -> SignIn {
        let isAdmin = try await isAdministrator(session.user, in: db)
        let issued = Int64(now().timeIntervalSince1970)
        // A token must not outlive its session.
        let expires = min(issued + Int64(accessTokenLifetime), Int64(session.expiresAt.timeIntervalSince1970))
        let claims = AccessToken.Claims(
            iss: issuer,
            sub: session.user.user,
            app: session.user.application,
            sid: session.id.wire,
            iat: issued,
            exp: expires,
            scope: isAdmin ? "admin" : nil
        )
        return SignIn(
            jwt: try keys.sign(claims),
            refreshToken: refreshToken.text,
            expiresIn: Int(expires - issued),
            userId: session.user.user
        )
    }

    private func isAdministrator(_ user: User.ID, in db: any PostgresExecutor) async throws -> Bool {
        guard let account = user.accountID else { return false }
        return try await AdministratorStore(db: db).contains(account)
    }
}
