import Credentials
import Foundation
import HTTPTypes
import Logging
import ServiceClient
import Synchronization
import Testing
import TestSupport
import Wire

@Suite("Verification of session tokens") struct SessionVerifierTests {
    private let auth = ScriptedAuth()
    private let ada = User.ID(application: "acme", user: "ada")

    private func loaded(_ now: @escaping @Sendable () -> Date = { Date() }) async throws -> CredentialVerifier {
        let verifier = CredentialVerifier(
            source: auth,
            issuer: TestKeys.issuer,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: now
        )
        try await verifier.load()
        return verifier
    }

    private func kind(_ token: String, by verifier: CredentialVerifier) async -> APIError.Kind? {
        do {
            _ = try await verifier.identify(token)
            return nil
        } catch {
            return (error as? APIError)?.kind
        }
    }

    private func code(_ token: String, by verifier: CredentialVerifier) async -> String? {
        do {
            _ = try await verifier.identify(token)
            return nil
        } catch {
            return (error as? APIError)?.code
        }
    }

    /// Identifies all tokens before auth responds, and expects all to be accepted.
    private func identifyAtOnce(_ tokens: [String]) async throws {
        let began = Mutex(0)
        let verifier = try await loaded {
            began.withLock { $0 += 1 }
            return Date()
        }
        let before = began.withLock { $0 }
        auth.hold()
        let tasks = tokens.map { token in Task { await kind(token, by: verifier) } }
        // Each task reads the clock once before its request.
        while began.withLock({ $0 }) < before + tokens.count { await Task.yield() }
        await auth.waitForRequest()
        auth.release()
        for task in tasks { #expect(await task.value == nil) }
    }

    @Test("A session gives user and device, and is cached")
    func identity() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada, session: "s1", device: "phone")
        #expect(verifier.cached(token) == nil)

        let identity = try await verifier.identify(token)

        #expect(identity.user == ada)
        #expect(identity.session == "s1")
        #expect(identity.device == "phone")
        #expect(!identity.isAdmin)
        #expect(identity.expires > Date())
        #expect(verifier.cached(token) == identity)
        #expect(try await verifier.identify(token) == identity)
        #expect(auth.keys.requestedSessions.count == 1)
    }

    @Test("Access tokens and session tokens are both accepted, and other texts cause no request")
    func bothKinds() async throws {
        let verifier = try await loaded()
        let jwt = try await auth.keys.token(for: User.ID(application: RoostApplication.id, user: "bo"), session: "s2")

        let identity = try await verifier.identify(jwt)

        #expect(identity.user.user == "bo")
        #expect(identity.session == "s2")
        #expect(identity.device == nil)
        #expect(auth.keys.requestedSessions.isEmpty)
        let malformed = [
            "", "x", ".", "a.b.c", String(repeating: "a", count: 42), String(repeating: "a", count: 44),
            String(repeating: "ä", count: 43), String(repeating: "=", count: 43), "\(jwt)x",
        ]
        for text in malformed {
            #expect(await kind(text, by: verifier) == .forbidden, "\(text)")
        }
        #expect(auth.keys.requestedSessions.isEmpty)
    }

    /// A customer may give a user the id of an administrator of the suite.
    @Test("Users of applications are never administrators")
    func noAdministrators() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada)
        #expect(try await !verifier.identify(token).isAdmin)
        let identity = Identity(user: ada, session: "s", scope: "admin", expires: .distantFuture)
        #expect(!identity.isAdmin)
    }

    @Test("Only the hash of a token leaves the service")
    func hashOnly() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada)
        _ = try await verifier.identify(token)
        #expect(auth.keys.requestedSessions == [[Base64URL.encode(SessionToken.hash(token))]])
    }

    @Test("A session is requested again after a minute")
    func cacheTime() async throws {
        let offset = Mutex(0.0)
        // A clock that does not advance by itself.
        let began = Date()
        let verifier = try await loaded { began.addingTimeInterval(offset.withLock { $0 }) }
        let token = auth.keys.openSession(of: ada, session: "s1")
        _ = try await verifier.identify(token)
        auth.keys.closeSession("s1")

        offset.withLock { $0 = 59 }
        #expect(verifier.cached(token) != nil)
        offset.withLock { $0 = 60 }
        #expect(verifier.cached(token) == nil)
        #expect(await kind(token, by: verifier) == .forbidden)
        #expect(auth.keys.requestedSessions.count == 2)
    }

    @Test("A session ends with its lifetime")
    func expiry() async throws {
        let offset = Mutex(0.0)
        let verifier = try await loaded { Date().addingTimeInterval(offset.withLock { $0 }) }
        let token = auth.keys.openSession(of: ada, lifetime: 30)
        _ = try await verifier.identify(token)

        offset.withLock { $0 = 31 }

        #expect(verifier.cached(token) == nil)
        #expect(await kind(token, by: verifier) == .forbidden)
    }

    @Test("A revoked session ends at once")
    func revokedSession() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada, session: "s1")
        _ = try await verifier.identify(token)

        verifier.revoke([Revocation(sessionId: "s1", serial: 1, until: Date().addingTimeInterval(70))])

        #expect(verifier.cached(token) == nil)
        #expect(await code(token, by: verifier) == "session_ended")
        #expect(auth.keys.requestedSessions.count == 1)
    }

    @Test("The token of an ended session is recognised by a verifier that knows only the revocation feed")
    func endedUnseen() async throws {
        let token = auth.keys.openSession(of: ada, session: "s1")
        auth.keys.revoke("s1")
        auth.keys.closeSession("s1")
        let verifier = try await loaded()

        #expect(await code(token, by: verifier) == "session_ended")
        #expect(await code(SessionToken.random(), by: verifier) == "invalid_token")
        #expect(auth.keys.requestedSessions.count == 1)
    }

    @Test("A session that expired before its first use here is reported as ended")
    func expiredUnseen() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada, session: "s1", lifetime: -1)

        #expect(await code(token, by: verifier) == "session_ended")
        #expect(await code(token, by: verifier) == "session_ended")
        #expect(auth.keys.requestedSessions.count == 1)
    }

    /// The response says that the session is active, but the session ended while the response was on its way.
    @Test("A revocation takes precedence over a response that was under way")
    func overtakenResponse() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada, session: "s1")
        auth.hold()
        let call = Task { await kind(token, by: verifier) }
        await auth.waitForRequest()

        verifier.revoke([Revocation(sessionId: "s1", serial: 1, until: Date().addingTimeInterval(70))])
        auth.release()

        #expect(await call.value == .forbidden)
        #expect(verifier.cached(token) == nil)
        #expect(await code(token, by: verifier) == "session_ended")
    }

    @Test("While auth is unavailable, cached sessions are accepted and others get a 503")
    func authUnavailable() async throws {
        let offset = Mutex(0.0)
        let verifier = try await loaded { Date().addingTimeInterval(offset.withLock { $0 }) }
        let known = auth.keys.openSession(of: ada)
        let unknown = auth.keys.openSession(of: ada)
        _ = try await verifier.identify(known)
        auth.isUnavailable = true

        #expect(await kind(known, by: verifier) == nil)
        #expect(await kind(unknown, by: verifier) == .unavailable)
        offset.withLock { $0 = 61 }
        #expect(await kind(known, by: verifier) == .unavailable)

        auth.isUnavailable = false
        #expect(await kind(known, by: verifier) == nil)
        #expect(await kind(unknown, by: verifier) == nil)
    }

    @Test("Without the revocation feed, a request with any session gets a 503")
    func noRevocations() async throws {
        let verifier = CredentialVerifier(source: auth, issuer: TestKeys.issuer, logger: Logger(label: "test"))
        #expect(await kind(auth.keys.openSession(of: ada), by: verifier) == .unavailable)
    }

    @Test("Concurrent uses of one session cause few requests")
    func coalescing() async throws {
        let token = auth.keys.openSession(of: ada)
        try await identifyAtOnce(Array(repeating: token, count: 200))
        // A task that has read the clock goes on to its request; only as many as there are threads may come later.
        #expect(auth.keys.requestedSessions.count <= 1 + ProcessInfo.processInfo.activeProcessorCount)
    }

    @Test("Sessions are requested in batches")
    func batching() async throws {
        try await identifyAtOnce((0..<500).map { _ in auth.keys.openSession(of: ada) })
        let requests = auth.keys.requestedSessions
        #expect(requests.flatMap { $0 }.count == 500)
        #expect(requests.allSatisfy { $0.count <= KnownSessions.maximum })
        #expect(requests.count < 100, "\(requests.count)")
    }

    /// A client that keeps using an ended session must not load auth.
    @Test("An unknown token is requested again only after ten seconds")
    func rejectionCache() async throws {
        let offset = Mutex(0.0)
        let verifier = try await loaded { Date().addingTimeInterval(offset.withLock { $0 }) }
        let token = SessionToken.random()
        for _ in 0..<10 { #expect(await kind(token, by: verifier) == .forbidden) }
        #expect(auth.keys.requestedSessions.count == 1)
        offset.withLock { $0 = 11 }
        #expect(await kind(token, by: verifier) == .forbidden)
        #expect(auth.keys.requestedSessions.count == 2)
    }
}

/// Auth, whose responses the test delays or withholds.
private final class ScriptedAuth: CredentialSource {
    private struct State {
        var isUnavailable = false
        var isHeld = false
        var requests = 0
    }

    let keys = TestKeys()
    private let state = Mutex(State())

    var isUnavailable: Bool {
        get { state.withLock { $0.isUnavailable } }
        set { state.withLock { $0.isUnavailable = newValue } }
    }

    /// Holds responses back from now on.
    func hold() { state.withLock { $0.isHeld = true } }

    func release() { state.withLock { $0.isHeld = false } }

    func waitForRequest() async {
        while state.withLock({ $0.requests == 0 }) { await Task.yield() }
    }

    func keyDocument() async throws -> KeyDocument { try await keys.keyDocument() }

    func revocations(after: Int64?) async throws -> RevocationPage { try await keys.revocations(after: after) }

    func sessions(of hashes: [String]) async throws -> [KnownSession] {
        guard !isUnavailable else { throw TransportFailure.notSent }
        let found = try await keys.sessions(of: hashes)
        state.withLock { $0.requests += 1 }
        while state.withLock({ $0.isHeld }) { try await Task.sleep(for: .milliseconds(1)) }
        return found
    }

    func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey] {
        try await keys.applicationKeys(names)
    }
}
