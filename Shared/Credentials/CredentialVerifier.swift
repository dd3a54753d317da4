package import Foundation
import JWTKit
import Locks
package import Logging
import Metrics
import ServiceLifecycle
import Wire

/// The verifier of credentials that the gateway and all services use.
///
/// In addition to jwt-kit's checks it requires:
/// - the algorithm ES256,
/// - the key named by `kid`, without a default,
/// - the type `at+jwt` and no extensions,
/// - canonical encoding of every part, and all claims.
///
/// It looks up session tokens and the keys of applications' servers in auth, and follows auth's revocations. Run it as
/// a service.
package final class CredentialVerifier: Sendable, Service {
    /// The maximum time in seconds by which the issuer's clock may be ahead.
    private static let leeway: Int64 = 5
    /// The minimum time in seconds between requests of the key document that unknown `kid`s cause.
    private static let refetchInterval = 1.0
    /// The interval in seconds in which the key document is refreshed, so that retired keys become invalid.
    private static let refreshInterval = 60.0

    private struct Keys {
        var current: VerifyingKeys?
        var document: KeyDocument?
        var fetched = Date.distantPast
        var hasRevocations = false
    }

    private let source: any CredentialSource
    let issuer: String
    private let applications: Set<String>
    private let logger: Logger
    let now: @Sendable () -> Date
    private let keys = Lock(Keys())
    private let verified: BoundedCache<Identity>
    private let sessions: SessionVerifier
    private let servers: ServerVerifier
    private let revoked: RevokedSessions
    private let fetching = SingleFlight<VerifyingKeys?>()
    private let feedLosses = Counter(label: "roost_credentials_revocations_disconnects_total")
    /// The time of the last response of the revocation feed, in seconds since 1970; the feed's age is its distance from
    /// now.
    private let feedLastReceived = Gauge(label: "roost_credentials_feed_last_received_timestamp_seconds")

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - source: the source of keys and revocations.
    ///   - issuer: the `iss` that tokens must have.
    ///   - logger: receives failures to load keys or revocations.
    ///   - applications: the applications whose users have jwts; customers' applications use session tokens instead.
    ///   - cacheCapacity: the maximum number of cached jwts, and of cached sessions.
    ///   - now: the clock.
    package init(
        source: any CredentialSource,
        issuer: String,
        logger: Logger,
        applications: Set<String> = [RoostApplication.id],
        cacheCapacity: Int = 100_000,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.source = source
        self.issuer = issuer
        self.applications = applications
        self.logger = logger
        self.now = now
        verified = BoundedCache(capacity: cacheCapacity)
        let revoked = RevokedSessions()
        self.revoked = revoked
        sessions = SessionVerifier(capacity: cacheCapacity, revoked: revoked, now: now, source: source)
        servers = ServerVerifier(capacity: cacheCapacity, revoked: revoked, now: now, source: source)
    }

    /// Whether keys and revocations are loaded, so that credentials can be verified.
    package var isLoaded: Bool {
        keys.withLock { $0.current != nil && $0.hasRevocations }
    }

    /// Calls `observer` for each session that ends, from any thread.
    package func onRevocation(_ observer: @escaping @Sendable (_ session: String) -> Void) {
        revoked.observe(observer)
    }

    /// Returns whether a session has ended, even if its credential was verified before.
    package func hasEnded(_ session: String) -> Bool {
        revoked.contains(session)
    }

    /// Applies revocations immediately, without waiting for the feed; for auth itself.
    package func revoke(_ revocations: [Revocation]) {
        revoked.add(revocations, now: now())
    }

    /// Returns the identity of a credential that was verified before, if it is still valid; costs only a cache lookup.
    package func cached(_ credential: String, allowingServer: Bool = false) -> Identity? {
        guard Credential.isReadable(credential) else { return nil }
        guard !SessionToken.isWellFormed(credential) else { return sessions.cached(credential) }
        guard let identity = verified[credential] else { return allowingServer ? servers.cached(credential) : nil }
        guard identity.expires > now(), !revoked.contains(identity.session) else {
            verified.remove(credential)
            return nil
        }
        return identity
    }

    /// Returns the identity of a credential: a jwt, a session token, or, if allowed, the token of an application's
    /// server.
    ///
    /// - Parameters:
    ///   - credential: the credential.
    ///   - allowingServer: whether the token of an application's server is accepted.
    /// - Returns: the identity.
    /// - Throws: `invalid_token`, `token_expired` or `session_ended`, and `unavailable` while the validity cannot be
    ///   determined.
    package func identify(_ credential: String, allowingServer: Bool = false) async throws -> Identity {
        guard Credential.isReadable(credential) else { throw APIError.invalidToken }
        if let identity = cached(credential, allowingServer: allowingServer) { return identity }
        let found: Identity?
        if SessionToken.isWellFormed(credential) {
            guard isLoaded else { throw APIError.unavailable("auth") }
            found = try await sessions.identity(of: credential)
        } else if allowingServer, let token = ServerToken(credential) {
            guard isLoaded else { throw APIError.unavailable("auth") }
            found = try await servers.identity(of: token, credential)
        } else {
            found = try await verify(credential)
        }
        guard let found else { throw APIError.invalidToken }
        return found
    }

    /// Returns the identity of a jwt.
    ///
    /// - Throws: the errors of `identify(_:allowingServer:)`.
    package func verify(_ token: String) async throws -> Identity {
        guard Credential.isReadable(token) else { throw APIError.invalidToken }
        if let identity = cached(token) { return identity }
        let claims: AccessToken.Claims = try await signedClaims(
            of: token,
            type: AccessToken.type,
            maximumLength: AccessToken.maximumLength,
            otherwise: .invalidToken
        )
        let identity = try identity(of: claims)
        verified.insert(identity, for: token)
        return identity
    }

    /// Returns the claims of a token that auth signed, without checking them.
    ///
    /// - Parameters:
    ///   - token: a JWS in compact serialization.
    ///   - type: the `typ` that its header must have.
    ///   - maximumLength: the maximum length in bytes.
    ///   - invalid: the error for a token that is malformed, of another type, or not signed by a valid key.
    /// - Returns: the claims.
    /// - Throws: `invalid`, or `unavailable` while no keys are loaded.
    func signedClaims<Claims: JWTPayload>(
        of token: String,
        type: String,
        maximumLength: Int,
        otherwise invalid: APIError
    ) async throws -> Claims {
        guard let jws = CompactJWS(token, maximumLength: maximumLength),
            jws.algorithm == AccessToken.algorithm, jws.type == type,
            let kid = jws.keyID, (1...128).contains(kid.utf8.count), jws.signature.count == 64
        else { throw invalid }
        guard isLoaded else { throw APIError.unavailable("the key document") }
        guard let collection = try await collection(for: kid) else { throw invalid }
        do {
            return try await collection.verify(token, as: Claims.self)
        } catch {
            throw invalid
        }
    }

    private func identity(of claims: AccessToken.Claims) throws -> Identity {
        let current = Int64(now().timeIntervalSince1970)
        guard claims.iss == issuer, claims.aud == AccessToken.audience,
            (1...255).contains(claims.sub.unicodeScalars.count), applications.contains(claims.app), !claims.sid.isEmpty,
            claims.iat <= current + Self.leeway, (claims.nbf ?? 0) <= current + Self.leeway
        else { throw APIError.invalidToken }
        // The session is checked first, because refreshing the token does not help if the session has ended.
        guard !revoked.contains(claims.sid) else { throw APIError.sessionEnded }
        guard claims.exp > current else { throw APIError.tokenExpired }
        return Identity(
            user: User.ID(application: claims.app, user: claims.sub),
            session: claims.sid,
            scope: claims.scope,
            expires: Date(timeIntervalSince1970: TimeInterval(claims.exp))
        )
    }

    // MARK: Keys

    private func collection(for kid: String) async throws -> JWTKeyCollection? {
        let (current, age) = keys.withLock { ($0.current, now().timeIntervalSince($0.fetched)) }
        if let collection = current?.collection(for: kid) { return collection }
        // The key may be new: all callers share one request, which is not repeated immediately.
        guard age >= Self.refetchInterval else { return nil }
        guard let fresh = try await fetching.value({ await self.fetchKeys() }) else {
            throw APIError.unavailable("the key document")
        }
        return fresh.collection(for: kid)
    }

    @discardableResult
    private func fetchKeys() async -> VerifyingKeys? {
        do {
            let document = try await source.keyDocument()
            let isChanged = keys.withLock { $0.document != document }
            let fresh = await VerifyingKeys(document)
            keys.withLock { keys in
                keys.current = fresh
                keys.document = document
                keys.fetched = now()
            }
            // Tokens of a removed key must be verified again.
            if isChanged { verified.removeAll() }
            return fresh
        } catch {
            logger.warning("key document not loaded", metadata: ["error": "\(error)"])
            return nil
        }
    }

    // MARK: The feed

    /// Loads keys and revocations once; until then every verification fails with `unavailable`.
    package func load() async throws {
        guard await fetchKeys() != nil else { throw APIError.unavailable("the key document") }
        apply(try await source.revocations(after: nil))
    }

    private func apply(_ page: RevocationPage) {
        let now = now()
        revoked.add(page.revocations, now: now)
        keys.withLock { $0.hasRevocations = true }
        feedLastReceived.record(now.timeIntervalSince1970)
    }

    /// Follows the revocation feed and refreshes the keys until the service is shut down.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            var after: Int64?
            var losses = 0
            while !Task.isCancelled {
                do {
                    let age = keys.withLock { now().timeIntervalSince($0.fetched) }
                    if age >= Self.refreshInterval || !keys.withLock({ $0.current != nil }) { await fetchKeys() }
                    let page = try await source.revocations(after: after)
                    apply(page)
                    after = page.after
                    if losses > 0 { logger.info("revocation feed restored", metadata: ["losses": "\(losses)"]) }
                    losses = 0
                } catch is CancellationError {
                    return
                } catch {
                    losses += 1
                    feedLosses.increment()
                    if losses == 1 { logger.warning("revocation feed lost", metadata: ["error": "\(error)"]) }
                    // All revocations are loaded again, because missed ones may have left the feed's window.
                    after = nil
                    // Cancellation ends the sleep; the loop's condition then ends the loop.
                    try? await Task.sleep(for: .milliseconds(min(50 << min(losses, 5), 1_000)))
                }
            }
        }
    }
}
