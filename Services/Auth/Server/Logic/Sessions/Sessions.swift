import AuthAPI
import Credentials
import Foundation
import Logging
import Metrics
import Postgres
import ServiceHost
import Wire

/// The rules of sessions: refresh, list and end.
struct Sessions: Sendable {
    /// Seconds for which the session's own device may still use a refresh token after its successor was used.
    static let reuseGrace: TimeInterval = 10
    /// The most unused refresh tokens of a session; older ones are deleted.
    static let maximumUnusedTokens = 128
    /// The most concurrent refreshes of one session; further ones are rejected.
    static let maximumWaiting = 256

    let database: PostgresPool
    let issuer: TokenIssuer
    let sessionRevocations: SessionRevocations
    let cursors: CursorSigner
    /// In seconds.
    let idleLifetime: Int
    let logger: Logger
    let now: @Sendable () -> Date
    private let concurrencyLimit = KeyedConcurrencyLimit<UUID>(maximumWaiting: maximumWaiting)

    private static let refused = APIError(.unauthenticated, "invalid_refresh_token", "the refresh token is not valid")

    private enum Outcome: Sendable {
        case continued(SignIn)
        case refused
        /// The token was used before, in a way that a lost response does not explain.
        case reused
    }

    /// Issues the next tokens of a session for a refresh token.
    ///
    /// Each token is used once, with two exceptions. While its successor is unused, the response may have been lost.
    /// For 10 s after that, the same device may have sent two refreshes concurrently. Any other reuse means that a copy
    /// of the token exists. The legitimate client cannot be identified, so the session ends.
    func refresh(_ draft: RefreshDraft) async throws -> SignIn {
        guard !draft.refreshToken.isEmpty else { throw APIError.missing("refreshToken") }
        guard draft.refreshToken.unicodeScalars.count <= RefreshToken.maximumLength else {
            throw APIError.invalid(
                "refreshToken",
                "a refresh token must have at most \(RefreshToken.maximumLength) characters",
                code: "refresh_token_length"
            )
        }
        let device = try draft.deviceId.map { try DeviceID($0) }
        guard let token = RefreshToken(draft.refreshToken) else { throw Self.refused }

        let outcome = try await concurrencyLimit.run(token.session) {
            try await database.transaction { db in try await self.use(token, on: device, in: db) }
        }
        switch outcome {
        case .continued(let signIn): return signIn
        case .refused: throw Self.refused
        case .reused:
            Counter(label: "roost_auth_refresh_token_reuses_total").increment()
            logger.warning("refresh token reused, session ended", metadata: ["session": "\(token.session.wire)"])
            throw Self.refused
        }
    }

    private func use(_ token: RefreshToken, on device: DeviceID?, in db: PostgresTransaction) async throws -> Outcome {
        // The session's row lock orders all changes of its tokens.
        guard let session = try await SessionStore(db: db).lock(token.session) else { return .refused }
        let now = now()
        guard session.expiresAt > now, session.lastSeenAt > idleSince(now) else { return .refused }

        let store = RefreshTokenStore(db: db)
        guard let record = try await store.find(token.hash, in: session.id) else {
            // An issued token without a row was deleted because it could no longer be used.
            guard token.isOurs(issuer.refreshTokenTags) else { return .refused }
            try await sessionRevocations.end([session.id], as: .refreshTokenReused, in: db)
            return .reused
        }
        if record.usedAt != nil, let successorUsedAt = record.successorUsedAt {
            let isSameDevice = device != nil && device?.text == session.deviceID
            guard isSameDevice, now.timeIntervalSince(successorUsedAt) <= Self.reuseGrace else {
                try await sessionRevocations.end([session.id], as: .refreshTokenReused, in: db)
                return .reused
            }
        }
        let next = RefreshToken(for: session.id, tags: issuer.refreshTokenTags)
        try await store.use(
            token.hash,
            issuing: next.hash,
            in: session.id,
            at: now,
            pruning: .init(
                successorUsedBefore: now.addingTimeInterval(-Self.reuseGrace),
                unusedLimit: Self.maximumUnusedTokens
            )
        )
        return .continued(try await issuer.tokens(of: session, refreshToken: next, in: db))
    }

    /// Returns a user's sessions, newest first; `current` is the id of the caller's session, if it is the user's.
    func list(
        of user: User.ID,
        current: String? = nil,
        limit: Int,
        cursor: String? = nil
    ) async throws -> Page<Session> {
        let after = try cursor.map { cursor in
            try cursors.position(cursor, of: Session.pluralName, for: user, as: Cursor.self).position
        }
        let now = now()
        let records = try await SessionStore(db: database.reads)
            .list(of: user, seenSince: idleSince(now), now: now, after: after, limit: limit + 1)
        let shown = records.prefix(limit)
        let last = records.count > limit ? shown.last.map { Cursor($0) } : nil
        let next = try last.map { try cursors.sign($0, of: Session.pluralName, for: user) }
        return Page(shown.map { Session($0, isCurrent: $0.id.wire == current) }, next: next)
    }

    /// Ends one of a user's sessions.
    ///
    /// - Throws: `session_not_found`, a 404, if the user has no session with this id.
    func end(_ id: String, of user: User.ID) async throws {
        let session = UUID(uuidString: id).flatMap { $0.wire == id.lowercased() ? $0 : nil }
        guard let session else { throw Self.notFound }
        guard try await sessionRevocations.end(session, of: user) else { throw Self.notFound }
    }

    /// Ends the caller's session; a session that has already ended is not an error.
    func logout(_ identity: Identity) async throws {
        guard let session = UUID(uuidString: identity.session) else { return }
        _ = try await sessionRevocations.end(session, of: identity.user)
    }

    func endOthers(of identity: Identity) async throws {
        guard let session = UUID(uuidString: identity.session) else { return }
        try await sessionRevocations.endAll(of: identity.user, except: session)
    }

    private func idleSince(_ now: Date) -> Date { now.addingTimeInterval(-TimeInterval(idleLifetime)) }

    private static let notFound = APIError(.notFound, "session_not_found", "the session does not exist")
}

/// The list position of a session as a cursor stores it, in microseconds like the database.
private struct Cursor: Codable {
    var microseconds: Int64
    var session: UUID

    init(_ record: SessionStore.Record) {
        microseconds = Int64((record.createdAt.timeIntervalSince1970 * 1_000_000).rounded())
        session = record.id
    }

    var position: SessionStore.Position {
        SessionStore.Position(createdAt: Date(timeIntervalSince1970: Double(microseconds) / 1_000_000), id: session)
    }
}

extension Session {
    fileprivate init(_ record: SessionStore.Record, isCurrent: Bool) {
        self.init(
            id: record.id.wire,
            deviceId: record.deviceID,
            platform: record.platform,
            userAgent: record.userAgent,
            createdAt: record.createdAt,
            lastSeenAt: record.lastSeenAt,
            current: isCurrent
        )
    }
}
