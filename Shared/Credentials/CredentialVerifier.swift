package import Foundation
import JWTKit
import Locks
package import Logging
import Metrics
import ServiceLifecycle
import Wire

/// Says whom a credential stands for: the one strict verifier that the gateway and every service use.
///
/// Around jwt-kit it checks what that leaves open: the algorithm is ES256 and no other, the key is the one named by
/// `kid` and no default, `typ` is `at+jwt`, no extension is asked for, every part has its canonical spelling, and all
/// claims are there. Of a session's token it asks auth, and of the key that an application's server signed with. It
/// follows auth's revocations; run it as a service.
package final class CredentialVerifier: Sendable, Service {
    /// How far the issuer's clock may be ahead, in seconds.
    private static let leeway: Int64 = 5
    /// Unknown `kid`s fetch the key document at most this often, in seconds.
    private static let refetchInterval = 1.0
    /// The key document is read anew this often, in seconds, so that a retired key is forgotten.
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
    /// When auth was last heard, in seconds since 1970; its distance from now is the feed's age.
    private let feedLastReceived = Gauge(label: "roost_credentials_feed_last_received_timestamp_seconds")

    /// - Parameters:
    ///   - source: where keys and revocations come from.
    ///   - issuer: the `iss` that tokens must have.
    ///   - logger: hears when keys or revocations cannot be read.
    ///   - applications: whose people have jwts; customers' applications open sessions instead.
    ///   - cacheCapacity: how many verified jwts are remembered at most, and how many sessions.
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

    /// Whether keys and revocations were read, so that a verdict can be given.
    package var isLoaded: Bool {
        keys.withLock { $0.current != nil && $0.hasRevocations }
    }

    /// Calls `observer` for each session that ends, from any thread.
    package func onRevocation(_ observer: @escaping @Sendable (_ session: String) -> Void) {
        revoked.observe(observer)
    }

    /// Whether a session has ended, however long ago a credential of it may have been looked at.
    package func hasEnded(_ session: String) -> Bool {
        revoked.contains(session)
    }

    /// Takes a session's end at once, without waiting for the feed; for auth itself.
    package func revoke(_ revocations: [Revocation]) {
        revoked.add(revocations, now: now())
    }

    /// The identity of a credential that was verified before, if it still counts; costs a look-up and no more.
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

    /// The identity that a credential of any kind stands for: a jwt, a session's token, or what an application's server
    /// signed for itself, where such a server may come too.
    ///
    /// - Throws: `APIError`: `invalid_token`, `token_expired` or `session_ended` of kind `forbidden`, and `unavailable`
    ///   while the validity cannot be determined.
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

    /// The identity that a jwt stands for.
    ///
    /// - Throws: as `identify(_:allowingServer:)`.
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

    /// Returns the claims of a token that auth signed, unchecked.
    ///
    /// - Parameters:
    ///   - token: a JWS in compact serialization.
    ///   - type: the `typ` that its header must have.
    ///   - maximumLength: a longer token is rejected, in bytes.
    ///   - invalid: the error for a token that is malformed, of another type, or not signed by a known key.
    /// - Returns: the claims.
    /// - Throws: `invalid`; `unavailable` while no key is known.
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
        // In this order: refreshing does not help where the session has ended.
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
        // A key just made may not be known here yet: one look, shared by all who wait, and not again at once.
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
            // What a key that is gone had signed is to be judged anew.
            if isChanged { verified.removeAll() }
            return fresh
        } catch {
            logger.warning("key document not read", metadata: ["error": "\(error)"])
            return nil
        }
    }

    // MARK: The feed

    /// Reads keys and revocations once; until it succeeded, every verdict is `unavailable`.
    package func load() async throws {
        guard await fetchKeys() != nil else { throw APIError.unavailable("the key document") }
        take(try await source.revocations(after: nil))
    }

    private func take(_ page: RevocationPage) {
        let now = now()
        revoked.add(page.revocations, now: now)
        keys.withLock { $0.hasRevocations = true }
        feedLastReceived.record(now.timeIntervalSince1970)
    }

    /// Follows the feed and refreshes the keys until the service is shut down.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            var after: Int64?
            var losses = 0
            while !Task.isCancelled {
                do {
                    let age = keys.withLock { now().timeIntervalSince($0.fetched) }
                    if age >= Self.refreshInterval || !keys.withLock({ $0.current != nil }) { await fetchKeys() }
                    let page = try await source.revocations(after: after)
                    take(page)
                    after = page.after
                    if losses > 0 { logger.info("revocation feed is back", metadata: ["losses": "\(losses)"]) }
                    losses = 0
                } catch is CancellationError {
                    return
                } catch {
                    losses += 1
                    feedLosses.increment()
                    if losses == 1 { logger.warning("revocation feed lost", metadata: ["error": "\(error)"]) }
                    // All that matters is read anew after a loss, since what was missed may have left the window.
                    after = nil
                    // Cancelled in its sleep it is at an end, and the condition above says so.
                    try? await Task.sleep(for: .milliseconds(min(50 << min(losses, 5), 1_000)))
                }
            }
        }
    }
}
