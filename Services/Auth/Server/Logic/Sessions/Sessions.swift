import AuthAPI
import Credentials
import Foundation
import Logging
import Metrics
import Postgres
import ServiceHost
import Wire

/// The rules of sessions: how one goes on, who sees them, and how they end.
struct Sessions: Sendable {
    /// How long a used refresh token is still taken from its own device, in seconds.
    static let reuseGrace: TimeInterval = 10
    /// Refresh tokens of a session that are not used yet; the oldest beyond them are forgotten.
    static let maximumUnusedTokens = 128
    /// Refreshes of one session that wait for each other; past them one is refused.
    static let maximumWaiting = 256

    let database: PostgresPool
    let issuer: TokenIssuer
    let sessionRevocations: SessionRevocations
    let cursors: CursorSigner
    /// Seconds.
    let idleLifetime: Int
    let logger: Logger
    let now: @Sendable () -> Date
    private let concurrencyLimit = KeyedConcurrencyLimit<UUID>(maximumWaiting: maximumWaiting)

    private static let refused = APIError(.unauthenticated, "invalid_refresh_token", "the refresh token is not valid")

    private enum Outcome: Sendable {
        case continued(SignIn)
        case refused
        /// The token was used before, and not as one that lost an answer would use it.
        case reused
    }

    /// Gives a session its next tokens for a refresh token.
    ///
    /// Each is used once, but for two cases that are no theft: while the token given for it is unused, its answer may
    /// have been lost; and for 10 s after that the same device may have asked twice at once. Else somebody has a copy,
    /// and since nobody can tell who, the session ends.
    func refresh(_ draft: RefreshDraft) async throws -> SignIn {
        guard !draft.refreshToken.isEmpty else { throw APIError.missing("refreshToken") }
        guard draft.refreshToken.unicodeScalars.count <= RefreshToken.maximumLength else {
            throw APIError.invalid("refreshToken", "a refresh token is shorter", code: "refresh_token_length")
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
            logger.warning("refresh token used again, session ended", metadata: ["session": "\(token.session.wire)"])
            throw Self.refused
        }
    }

    private func use(_ token: RefreshToken, on device: DeviceID?, in db: PostgresTransaction) async throws -> Outcome {
        // Everything about a session's tokens happens under its lock, one request after the other.
        guard let session = try await SessionStore(db: db).lock(token.session) else { return .refused }
        let now = now()
        guard session.expiresAt > now, session.lastSeenAt > idleSince(now) else { return .refused }

        let store = RefreshTokenStore(db: db)
        guard let known = try await store.find(token.hash, in: session.id) else {
            // One that was ours is one forgotten because it would never be taken again.
            guard token.isOurs(issuer.refreshTokenTags) else { return .refused }
            try await sessionRevocations.end([session.id], as: .refreshTokenReused, in: db)
            return .reused
        }
        if known.usedAt != nil, let successorUsedAt = known.successorUsedAt {
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

    /// The devices that a user is signed in on, newest first; `current` is the session that asks, where it is one of his.
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
    /// - Throws: a 404 if there is none of that id, or it is another's.
    func end(_ id: String, of user: User.ID) async throws {
        let session = UUID(uuidString: id).flatMap { $0.wire == id.lowercased() ? $0 : nil }
        guard let session else { throw Self.notFound }
        guard try await sessionRevocations.end(session, of: user) else { throw Self.notFound }
    }

    /// Ends the session that asks; that it has ended already is no error.
    func logout(_ identity: Identity) async throws {
        guard let session = UUID(uuidString: identity.session) else { return }
        _ = try await sessionRevocations.end(session, of: identity.user)
    }

    /// Ends all of a user's sessions but the one that asks.
    func endOthers(of identity: Identity) async throws {
        guard let kept = UUID(uuidString: identity.session) else { return }
        try await sessionRevocations.endAll(of: identity.user, except: kept)
    }

    private func idleSince(_ now: Date) -> Date { now.addingTimeInterval(-TimeInterval(idleLifetime)) }

    private static let notFound = APIError(.notFound, "session_not_found", "there is no such session")
}

/// The place of a session in the list, as a cursor keeps it: to the microsecond, as the database does.
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
