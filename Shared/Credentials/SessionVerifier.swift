import Foundation
import Wire

/// Says whom a session's token stands for, by what auth said of it within the last minute.
///
/// While auth is away, a session that is known counts for the rest of its minute, and of another nothing can be said.
/// Sessions that end are struck by the revocation feed, at each use: what an answer on its way says too late is struck
/// then, since the feed's news are kept for longer than an answer takes and counts.
final class SessionVerifier: Sendable {
    /// How long an answer counts, in seconds from when it was asked for.
    private static let cacheSeconds = 60.0
    /// How long it is remembered that there is no such session, which a flood of one bad token is cheap by.
    private static let negativeCacheSeconds = 10.0
    private static let negativeCacheCapacity = 10_000

    private struct CachedIdentity: Sendable {
        var identity: Identity
        var until: Date
    }

    private let lookupBatcher: LookupBatcher<KnownSession>
    private let revoked: RevokedSessions
    private let now: @Sendable () -> Date
    private let known: BoundedCache<CachedIdentity>
    private let refused = BoundedCache<Date>(capacity: negativeCacheCapacity)

    init(
        capacity: Int,
        revoked: RevokedSessions,
        now: @escaping @Sendable () -> Date,
        source: any CredentialSource
    ) {
        lookupBatcher = LookupBatcher(batch: KnownSessions.maximum) { hashes in
            let found = try await source.sessions(of: hashes).map { ($0.tokenHash, $0) }
            return Dictionary(found) { first, _ in first }
        }
        self.revoked = revoked
        self.now = now
        known = BoundedCache(capacity: capacity)
    }

    /// The identity of a token that was looked up before, if it still counts.
    func cached(_ token: String) -> Identity? {
        guard let known = known[token] else { return nil }
        let now = now()
        // An ended session stays, so that its token gets the right error without a request to auth.
        guard !hasEnded(known.identity, at: now) else { return nil }
        guard known.until > now else {
            self.known.remove(token)
            return nil
        }
        return known.identity
    }

    private func hasEnded(_ identity: Identity, at now: Date) -> Bool {
        identity.expires <= now || revoked.contains(identity.session)
    }

    /// The identity that a token stands for; nil where no session has the token.
    ///
    /// - Throws: `session_ended`; `unavailable` while the validity cannot be determined.
    func identity(of token: String) async throws -> Identity? {
        if let identity = cached(token) { return identity }
        let asked = now()
        if let known = known[token], hasEnded(known.identity, at: asked) { throw APIError.sessionEnded }
        let hash = Base64URL.encode(SessionToken.hash(token))
        guard !revoked.contains(tokenHash: hash) else { throw APIError.sessionEnded }
        if let until = refused[token], until > asked { return nil }
        let found: KnownSession?
        do {
            found = try await lookupBatcher.find(hash)
        } catch {
            throw APIError.unavailable("auth")
        }
        guard let found else {
            // The session may have ended while the request to auth was under way.
            guard !revoked.contains(tokenHash: hash) else { throw APIError.sessionEnded }
            refused.insert(asked.addingTimeInterval(Self.negativeCacheSeconds), for: token)
            return nil
        }
        let identity = Identity(
            user: User.ID(application: found.applicationId, user: found.userId),
            session: found.sessionId,
            device: found.deviceId,
            registration: found.platform.map { PushRegistration(platform: $0, pushToken: found.pushToken) },
            expires: found.expiresAt
        )
        known.insert(CachedIdentity(identity: identity, until: asked.addingTimeInterval(Self.cacheSeconds)), for: token)
        guard !hasEnded(identity, at: now()) else { throw APIError.sessionEnded }
        return identity
    }
}
