import Credentials
import CryptoExtras
import Foundation
import HTTPTypes
import Logging
import ServiceClient
import ServiceHost
import Synchronization
import TestSupport
import Testing
import Wire

/// Server tokens of applications, and the routes that accept them.
@Suite("Verification of server tokens") struct ServerVerifierTests {
    private let auth = TestKeys()

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

    private func isAccepted(_ token: String, by verifier: CredentialVerifier, allowingServer: Bool = true) async -> Bool
    {
        do {
            _ = try await verifier.identify(token, allowingServer: allowingServer)
            return true
        } catch {
            #expect((error as? APIError)?.kind == .forbidden)
            return false
        }
    }

    @Test("A server token gives the application, and is accepted only where servers are allowed")
    func serverIdentity() async throws {
        let verifier = try await loaded()
        let acme = try ApplicationServer(of: "acme", at: auth)
        let token = try acme.token()
        #expect(verifier.cached(token, allowingServer: true) == nil)

        let identity = try await verifier.identify(token, allowingServer: true)

        #expect(identity.isServer)
        #expect(!identity.isAdmin)
        #expect(identity.user.application == "acme")
        #expect(verifier.cached(token, allowingServer: true) == identity)
        // The key is requested once for both tokens, and routes for users do not accept them.
        #expect(await isAccepted(try acme.token(lifetime: 299), by: verifier))
        #expect(auth.requestedKeys == [["acme/k1"]])
        #expect(await !isAccepted(token, by: verifier, allowingServer: false))
        #expect(verifier.cached(token) == nil)
    }

    @Test("Times may be in the format of account servers, and clocks may differ by a minute")
    func timeFormats() async throws {
        let verifier = try await loaded()
        let acme = try ApplicationServer(of: "acme", at: auth)
        let now = Date()
        let claims: [String: JSONValue] = [
            "iat": .string(Timestamp.string(from: now)), "exp": .string(Timestamp.string(from: now + 300)),
        ]
        #expect(await isAccepted(try acme.token(claims, header: ["cty": .string("diuit-auth;v=1")]), by: verifier))
        #expect(await isAccepted(try acme.token(now: now + 50), by: verifier))
    }

    @Test("An invalid server token is refused")
    func invalidTokens() async throws {
        let verifier = try await loaded()
        let acme = try ApplicationServer(of: "acme", at: auth)
        let globex = try ApplicationServer(of: "globex", at: auth)
        let now = Date()
        let tokens: [(String, String)] = [
            ("six minutes", try acme.token(lifetime: 360)), ("expired", try acme.token(now: now - 400)),
            ("of the future", try acme.token(now: now + 120)), ("no life", try acme.token(lifetime: 0)),
            ("a person", try acme.token(["sub": .string("ada")])), ("nobody", try acme.token(["sub": .null])),
            ("no end", try acme.token(["exp": .null])), ("no beginning", try acme.token(["iat": .null])),
            ("another application", try acme.token(["iss": .string("globex")])),
            ("no application", try acme.token(["iss": .null])),
            ("an unknown key", try acme.token(header: ["kid": .string("k2")])),
            ("no key", try acme.token(header: ["kid": .null])),
            ("a name that leads elsewhere", try acme.token(header: ["kid": .string("../k1")])),
            ("another's signature", try acme.token(signedBy: globex.privateKey)),
            ("another algorithm", try acme.token(header: ["alg": .string("RS512")])),
            ("another type", try acme.token(header: ["typ": .string("at+jwt")])),
            ("another content", try acme.token(header: ["cty": .string("JWT")])),
            ("an extension", try acme.token(header: ["crit": .array([.string("exp")])])),
            ("its own key", try acme.token(header: ["jwk": .object([:])])),
            ("a signature cut short", String(try acme.token().dropLast())),
        ]
        for (name, token) in tokens { #expect(await !isAccepted(token, by: verifier), "\(name)") }
        #expect(!auth.requestedKeys.joined().contains { $0.contains("..") })
    }

    @Test("A valid server token whose lifetime is over is reported as expired")
    func expired() async throws {
        let verifier = try await loaded()
        let acme = try ApplicationServer(of: "acme", at: auth)
        let token = try acme.token(now: Date() - 400)

        await #expect(throws: APIError.tokenExpired) { try await verifier.identify(token, allowingServer: true) }
    }

    @Test("Many tokens of an unknown key cause one request")
    func unknownKey() async throws {
        let time = Mutex(Date())
        let verifier = try await loaded { time.withLock { $0 } }
        let acme = try ApplicationServer(of: "acme", at: auth)
        auth.setKey(acme.key, publicKey: nil)
        for seconds in 1...20 {
            #expect(await !isAccepted(try acme.token(lifetime: Double(seconds)), by: verifier))
        }
        #expect(auth.requestedKeys.count == 1)

        auth.setKey(acme.key, publicKey: acme.privateKey.publicKey.derRepresentation)
        time.withLock { $0 += 11 }
        #expect(await isAccepted(try acme.token(), by: verifier))
    }

    @Test("Revoking the key ends its tokens")
    func revokedKey() async throws {
        let time = Mutex(Date())
        let verifier = try await loaded { time.withLock { $0 } }
        let acme = try ApplicationServer(of: "acme", at: auth)
        let (shown, kept) = (try acme.token(), try acme.token(lifetime: 299))
        #expect(await isAccepted(shown, by: verifier))
        #expect(await isAccepted(kept, by: verifier))

        auth.setKey(acme.key, publicKey: nil)
        let session = acme.key.session.uuidString.lowercased()
        verifier.revoke([Revocation(sessionId: session, serial: 1, until: time.withLock { $0 } + 70)])
        #expect(await !isAccepted(shown, by: verifier))
        #expect(await !isAccepted(try acme.token(lifetime: 200), by: verifier))

        // The revocation has expired by then, and the cached key and token with it.
        time.withLock { $0 += 71 }
        #expect(await !isAccepted(kept, by: verifier))
    }

    @Test("A key is requested again after a minute")
    func keyRefresh() async throws {
        let time = Mutex(Date())
        let verifier = try await loaded { time.withLock { $0 } }
        let acme = try ApplicationServer(of: "acme", at: auth)
        #expect(await isAccepted(try acme.token(), by: verifier))
        time.withLock { $0 += 61 }
        #expect(await isAccepted(try acme.token(), by: verifier))
        #expect(auth.requestedKeys.count == 2)
    }

    @Test("Each key of each application has its own revocation id")
    func separateKeys() throws {
        let names = [("a", "b1"), ("a", "b2"), ("b", "b1")]
        let keys = try names.map { try #require(ApplicationKey(application: $0.0, id: $0.1)) }
        #expect(Set(keys.map(\.session)).count == 3)
        #expect(keys[0].session == ApplicationKey("a/b1")?.session)
        #expect(keys[0].session.uuidString.dropFirst(14).first == "8")
        for name in ["", "a", "a/", "/b", "a/b/c", "a/ü", "a b/c"] { #expect(ApplicationKey(name) == nil, "\(name)") }
    }

    @Test("A server token is accepted by server routes only")
    func serverRoutes() async throws {
        let peerClient = ServiceClient(callee: "auth", transport: AuthTransport(auth))
        try await TestService.with(EchoService.self, peers: .with(["auth": peerClient])) { echo in
            let token = try ApplicationServer(of: "acme", at: auth).token()
            let (root, ada) = (RoostApplication.user("root"), RoostApplication.user("ada"))
            let admin = try await auth.token(for: root, scope: "admin")
            let person = try await auth.token(for: ada)

            let order = try await echo.send(.post, "/orders", token: token)
            #expect(order.status == 200)
            #expect(order.json["word"].string == "acme")
            let byAdmin = try await echo.send(.post, "/orders", token: admin)
            #expect(byAdmin.json["word"].string == "roost by an administrator")
            #expect(try await echo.send(.post, "/orders", token: person).problem?.code == "server_required")
            #expect(try await echo.send(.post, "/orders").status == 403)

            let refused = try await echo.send(.get, "/words/fixed", token: token)
            #expect(refused.status == 403)
            #expect(refused.problem?.code == "user_required")
            #expect(try await echo.send(.get, "/open", token: token).json["word"].string == "nobody")
            #expect(try await echo.send(.get, "/internal/caller", token: token).status == 403)
        }
    }

    @Test("A server's idempotency key works across tokens")
    func idempotency() async throws {
        let peerClient = ServiceClient(callee: "auth", transport: AuthTransport(auth))
        try await TestService.with(EchoService.self, peers: .with(["auth": peerClient])) { echo in
            let acme = try ApplicationServer(of: "acme", at: auth)
            let headers: HTTPFields = [.idempotencyKey: "k"]
            let first = try await echo.send(.post, "/orders", token: try acme.token(), body: "{}", headers: headers)
            // With a newer token, as a server has when it retries.
            let token = try acme.token(lifetime: 299)
            let again = try await echo.send(.post, "/orders", token: token, body: "{}", headers: headers)
            let other = try await echo.send(.post, "/orders", token: token, body: #"{"a": 1}"#, headers: headers)
            #expect(first.status == 200)
            #expect(again.body == first.body)
            #expect(other.status == 422)
        }
    }
}

extension RoostApplication {
    fileprivate static func user(_ name: String) -> User.ID { User.ID(application: id, user: name) }
}
