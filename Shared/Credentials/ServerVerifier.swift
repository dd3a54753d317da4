import Foundation
import Wire

/// Says of which application a server's token is, by what auth said of its key within the last minute.
///
/// A key that is revoked is struck by the revocation feed, at each use, as a session is: its news are kept for longer than
/// an answer about the key takes and counts.
final class ServerVerifier: Sendable {
    /// How long an answer counts, in seconds from when it was asked for.
    private static let cacheSeconds = 60.0
    /// How long it is remembered that there is no such key, which a flood of bad tokens is cheap by.
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
    private let refused = BoundedCache<Date>(capacity: negativeCacheCapacity)
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

    /// The identity of a token that was verified before, if it still counts.
    func cached(_ text: String) -> Identity? {
        guard let known = verified[text] else { return nil }
        guard known.until > now(), !revoked.contains(known.identity.session) else {
            verified.remove(text)
            return nil
        }
        return known.identity
    }

    /// The application's server that a token stands for, `text` being how it came; nil where it stands for none.
    ///
    /// - Throws: `token_expired`; `unavailable` while the validity cannot be determined.
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
        let asked = now()
        if let known = keys[key.name], known.until > asked { return known }
        if let until = refused[key.name], until > asked { return nil }
        let found: Data?
        do {
            found = try await lookupBatcher.find(key.name)
        } catch {
            throw APIError.unavailable("auth")
        }
        guard let found else {
            refused.insert(asked.addingTimeInterval(Self.negativeCacheSeconds), for: key.name)
            return nil
        }
        let known = Key(publicKey: found, until: asked.addingTimeInterval(Self.cacheSeconds))
        keys.insert(known, for: key.name)
        return known
    }
}
