import Foundation
import Wire

/// The verifier of session tokens, which caches auth's responses for a minute.
///
/// While auth is unavailable, a cached session stays valid for the rest of its minute; other sessions cannot be
/// verified. Each use checks the revocation feed. A response that arrives after its session ended is also rejected. The
/// feed repeats revocations for longer than a response is in transit and valid.
final class SessionVerifier: Sendable {
    /// The validity of a cached session in seconds, from the time of the request.
    private static let cacheSeconds = 60.0
    /// The time in seconds for which a missing session is cached, so that many requests with an invalid token cost
    /// little.
    private static let negativeCacheSeconds = 10.0
    private static let negativeCacheCapacity = 10_000

    private struct CachedIdentity: Sendable {
        var identity: Identity
        var until: Date
    }

    private let lookupBatcher: LookupBatcher<KnownSession>
    private let revoked: RevokedSessions
    private let now: @Sendable () -> Date
    private let cache: BoundedCache<CachedIdentity>
    private let missing = BoundedCache<Date>(capacity: negativeCacheCapacity)

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
        cache = BoundedCache(capacity: capacity)
    }

    /// Returns the identity of a token that was looked up before, if it is still valid.
    func cached(_ token: String) -> Identity? {
        guard let entry = cache[token] else { return nil }
        let now = now()
        // An ended session stays cached, so that its token receives the right error without a request to auth.
        guard !hasEnded(entry.identity, at: now) else { return nil }
        guard entry.until > now else {
            cache.remove(token)
            return nil
        }
        return entry.identity
    }

    private func hasEnded(_ identity: Identity, at now: Date) -> Bool {
        identity.expires <= now || revoked.contains(identity.session)
    }

    /// Returns the identity of a token, or nil if no session has the token.
    ///
    /// - Throws: `session_ended`, or `unavailable` while the validity cannot be determined.
    func identity(of token: String) async throws -> Identity? {
        if let identity = cached(token) { return identity }
        let start = now()
        if let entry = cache[token], hasEnded(entry.identity, at: start) { throw APIError.sessionEnded }
        let hash = Base64URL.encode(SessionToken.hash(token))
        guard !revoked.contains(tokenHash: hash) else { throw APIError.sessionEnded }
        if let until = missing[token], until > start { return nil }
        let found: KnownSession?
        do {
            found = try await lookupBatcher.find(hash)
        } catch {
            throw APIError.unavailable("auth")
        }
        guard let found else {
            // The session may have ended during the request to auth.
            guard !revoked.contains(tokenHash: hash) else { throw APIError.sessionEnded }
            missing.insert(start.addingTimeInterval(Self.negativeCacheSeconds), for: token)
            return nil
        }
        let identity = Identity(
            user: User.ID(application: found.applicationId, user: found.userId),
            session: found.sessionId,
            device: found.deviceId,
            registration: found.platform.map { PushRegistration(platform: $0, pushToken: found.pushToken) },
            expires: found.expiresAt
        )
        cache.insert(CachedIdentity(identity: identity, until: start.addingTimeInterval(Self.cacheSeconds)), for: token)
        guard !hasEnded(identity, at: now()) else { throw APIError.sessionEnded }
        return identity
    }
}
