import Foundation
import Wire

/// The verifier of server tokens, which caches auth's responses about keys for a minute.
///
/// Each use checks the revocation feed, as for sessions. The feed repeats revocations for longer than a response is in
/// transit and valid.
final class ServerVerifier: Sendable {
    /// The validity of a cached key in seconds, from the time of the request.
    private static let cacheSeconds = 60.0
    /// The time in seconds for which a missing key is cached, so that many invalid tokens cost little.
    private static let negativeCacheSeconds = 10.0
    private static let negativeCacheCapacity = 10_000
    private static let keyCapacity = 10_000

    private struct Key: Sendable {
        var publicKey: Data
        var until: Date
    }

    private struct CachedIdentity: Sendable {
        var identity: Identity
        var until: Date
    }

    private let lookupBatcher: LookupBatcher<Data>
    private let revoked: RevokedSessions
    private let now: @Sendable () -> Date
    private let keys = BoundedCache<Key>(capacity: keyCapacity)
    private let missing = BoundedCache<Date>(capacity: negativeCacheCapacity)
    private let verified: BoundedCache<CachedIdentity>

    init(
        capacity: Int,
        revoked: RevokedSessions,
        now: @escaping @Sendable () -> Date,
        source: any CredentialSource
    ) {
        lookupBatcher = LookupBatcher(batch: KnownApplicationKeys.maximum) { names in
            let found = try await source.applicationKeys(names).map { ($0.name, $0.publicKey) }
            return Dictionary(found) { first, _ in first }
        }
        self.revoked = revoked
        self.now = now
        verified = BoundedCache(capacity: capacity)
    }

    /// Returns the identity of a token that was verified before, if it is still valid.
    func cached(_ text: String) -> Identity? {
        guard let entry = verified[text] else { return nil }
        guard entry.until > now(), !revoked.contains(entry.identity.session) else {
            verified.remove(text)
            return nil
        }
        return entry.identity
    }

    /// Returns the identity of an application's server, or nil if the token is invalid.
    ///
    /// - Parameters:
    ///   - token: the parsed token.
    ///   - text: the token's text, the key of the cache.
    /// - Returns: the identity, or nil.
    /// - Throws: `token_expired`, or `unavailable` while the validity cannot be determined.
    func identity(of token: ServerToken, _ text: String) async throws -> Identity? {
        guard token.isIssued(at: now()), let key = try await key(token.key), token.isSigned(by: key.publicKey) else {
            return nil
        }
        let session = token.key.session.uuidString.lowercased()
        guard !revoked.contains(session) else { return nil }
        guard !token.hasExpired(at: now()) else { throw APIError.tokenExpired }
        let identity = Identity(
            user: User.ID(application: token.key.application, user: ServerToken.subject),
            session: session,
            expires: token.expiresAt,
            isServer: true
        )
        verified.insert(CachedIdentity(identity: identity, until: min(token.expiresAt, key.until)), for: text)
        return identity
    }

    private func key(_ key: ApplicationKey) async throws -> Key? {
        let start = now()
        if let cached = keys[key.name], cached.until > start { return cached }
        if let until = missing[key.name], until > start { return nil }
        let found: Data?
        do {
            found = try await lookupBatcher.find(key.name)
        } catch {
            throw APIError.unavailable("auth")
        }
        guard let found else {
            missing.insert(start.addingTimeInterval(Self.negativeCacheSeconds), for: key.name)
            return nil
        }
        let fresh = Key(publicKey: found, until: start.addingTimeInterval(Self.cacheSeconds))
        keys.insert(fresh, for: key.name)
        return fresh
    }
}
