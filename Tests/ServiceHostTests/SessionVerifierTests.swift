import Credentials
import Foundation
import HTTPTypes
import Logging
import ServiceClient
import Synchronization
import Testing
import TestSupport
import Wire

@Suite struct SessionVerifierTests {
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

    /// Has all asked about before auth answers, and expects that each counts.
    private func askAtOnce(_ tokens: [String]) async throws {
        let began = Mutex(0)
        let verifier = try await loaded {
            began.withLock { $0 += 1 }
            return Date()
        }
        let before = began.withLock { $0 }
        auth.hold()
        let asking = tokens.map { token in Task { await kind(token, by: verifier) } }
        // Each looks at the clock once before it asks.
        while began.withLock({ $0 }) < before + tokens.count { await Task.yield() }
        await auth.hasBeenAsked()
        auth.release()
        for task in asking { #expect(await task.value == nil) }
    }

    @Test func aSessionSaysWhoAsksAndOnWhichDevice() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada, session: "s1", device: "phone")
        #expect(verifier.cached(token) == nil)

        let identity = try await verifier.identify(token)

        #expect(identity.user == ada && identity.session == "s1" && identity.device == "phone")
        #expect(!identity.isAdmin && identity.expires > Date())
        #expect(verifier.cached(token) == identity)
        #expect(try await verifier.identify(token) == identity)
        #expect(auth.keys.requestedSessions.count == 1)
    }

    @Test func oneEntryTakesEitherKind() async throws {
        let verifier = try await loaded()
        let jwt = try await auth.keys.token(for: User.ID(application: RoostApplication.id, user: "bo"), session: "s2")

        let identity = try await verifier.identify(jwt)

        #expect(identity.user.user == "bo" && identity.session == "s2" && identity.device == nil)
        #expect(auth.keys.requestedSessions.isEmpty)
        let rubbish = [
            "", "x", ".", "a.b.c", String(repeating: "a", count: 42), String(repeating: "a", count: 44),
            String(repeating: "ä", count: 43), String(repeating: "=", count: 43), "\(jwt)x",
        ]
        for text in rubbish {
            #expect(await kind(text, by: verifier) == .forbidden, "\(text)")
        }
        #expect(auth.keys.requestedSessions.isEmpty)
    }

    /// A customer may call a person as one of Roost's administrators is called.
    @Test func applicationUsersAreNotAdministrators() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada)
        #expect(try await !verifier.identify(token).isAdmin)
        let identity = Identity(user: ada, session: "s", scope: "admin", expires: .distantFuture)
        #expect(!identity.isAdmin)
    }

    @Test func onlyTheHashLeavesTheService() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada)
        _ = try await verifier.identify(token)
        #expect(auth.keys.requestedSessions == [[Base64URL.encode(SessionToken.hash(token))]])
    }

    @Test func anAnswerCountsForAMinute() async throws {
        let offset = Mutex(0.0)
        // A clock that stands, however long the machine takes.
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

    @Test func aSessionEndsWhenItsTimeIsOver() async throws {
        let offset = Mutex(0.0)
        let verifier = try await loaded { Date().addingTimeInterval(offset.withLock { $0 }) }
        let token = auth.keys.openSession(of: ada, lifetime: 30)
        _ = try await verifier.identify(token)

        offset.withLock { $0 = 31 }

        #expect(verifier.cached(token) == nil)
        #expect(await kind(token, by: verifier) == .forbidden)
    }

    @Test func revokedSession() async throws {
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

    @Test("A session whose lifetime was over before its first use here has ended")
    func expiredUnseen() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada, session: "s1", lifetime: -1)

        #expect(await code(token, by: verifier) == "session_ended")
        #expect(await code(token, by: verifier) == "session_ended")
        #expect(auth.keys.requestedSessions.count == 1)
    }

    /// The answer says the session lives, since it did when auth looked; it ended while the answer was on its way.
    @Test func anAnswerThatIsOvertakenByTheEndCountsForNothing() async throws {
        let verifier = try await loaded()
        let token = auth.keys.openSession(of: ada, session: "s1")
        auth.hold()
        let asking = Task { await kind(token, by: verifier) }
        await auth.hasBeenAsked()

        verifier.revoke([Revocation(sessionId: "s1", serial: 1, until: Date().addingTimeInterval(70))])
        auth.release()

        #expect(await asking.value == .forbidden)
        #expect(verifier.cached(token) == nil)
        #expect(await code(token, by: verifier) == "session_ended")
    }

    @Test func whileAuthIsAwayKnownSessionsCountAndNothingIsSaidOfOthers() async throws {
        let offset = Mutex(0.0)
        let verifier = try await loaded { Date().addingTimeInterval(offset.withLock { $0 }) }
        let known = auth.keys.openSession(of: ada)
        let unknown = auth.keys.openSession(of: ada)
        _ = try await verifier.identify(known)
        auth.isAway = true

        #expect(await kind(known, by: verifier) == nil)
        #expect(await kind(unknown, by: verifier) == .unavailable)
        offset.withLock { $0 = 61 }
        #expect(await kind(known, by: verifier) == .unavailable)

        auth.isAway = false
        #expect(await kind(known, by: verifier) == nil)
        #expect(await kind(unknown, by: verifier) == nil)
    }

    @Test func withoutRevocationsNothingIsSaid() async throws {
        let verifier = CredentialVerifier(source: auth, issuer: TestKeys.issuer, logger: Logger(label: "test"))
        #expect(await kind(auth.keys.openSession(of: ada), by: verifier) == .unavailable)
    }

    @Test func manyWhoAskForOneSessionWaitForOneAnswer() async throws {
        let token = auth.keys.openSession(of: ada)
        try await askAtOnce(Array(repeating: token, count: 200))
        // Who has looked at the clock runs on to his question; no more than there are threads can be held up between.
        #expect(auth.keys.requestedSessions.count <= 1 + ProcessInfo.processInfo.activeProcessorCount)
    }

    @Test func batching() async throws {
        try await askAtOnce((0..<500).map { _ in auth.keys.openSession(of: ada) })
        let questions = auth.keys.requestedSessions
        #expect(questions.flatMap { $0 }.count == 500)
        #expect(questions.allSatisfy { $0.count <= KnownSessions.maximum })
        #expect(questions.count < 100, "\(questions.count)")
    }

    /// A client that goes on with a session that is over does not make auth work.
    @Test func aRefusalIsRemembered() async throws {
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

/// Auth, as slow and as far away as a test wants it.
private final class ScriptedAuth: CredentialSource {
    private struct State {
        var isAway = false
        var isHeld = false
        var asked = 0
    }

    let keys = TestKeys()
    private let state = Mutex(State())

    var isAway: Bool {
        get { state.withLock { $0.isAway } }
        set { state.withLock { $0.isAway = newValue } }
    }

    /// Answers are kept back from now on.
    func hold() { state.withLock { $0.isHeld = true } }

    func release() { state.withLock { $0.isHeld = false } }

    func hasBeenAsked() async {
        while state.withLock({ $0.asked == 0 }) { await Task.yield() }
    }

    func keyDocument() async throws -> KeyDocument { try await keys.keyDocument() }

    func revocations(after: Int64?) async throws -> RevocationPage { try await keys.revocations(after: after) }

    func sessions(of hashes: [String]) async throws -> [KnownSession] {
        guard !isAway else { throw TransportFailure.notSent }
        let found = try await keys.sessions(of: hashes)
        state.withLock { $0.asked += 1 }
        while state.withLock({ $0.isHeld }) { try await Task.sleep(for: .milliseconds(1)) }
        return found
    }

    func applicationKeys(_ names: [String]) async throws -> [KnownApplicationKey] {
        try await keys.applicationKeys(names)
    }
}
