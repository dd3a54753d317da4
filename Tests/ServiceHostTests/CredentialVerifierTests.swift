import Credentials
import Crypto
import Foundation
import HTTPTypes
import JWTKit
import Logging
import Synchronization
import Testing
import TestSupport
import Wire

@Suite("Verification of access tokens") struct CredentialVerifierTests {
    private let keys = TestKeys()
    private let ana = User.ID(application: RoostApplication.id, user: "0190b0a0-0000-4000-8000-000000000001")

    private func loaded(_ now: @escaping @Sendable () -> Date = { Date() }) async throws -> CredentialVerifier {
        let verifier = CredentialVerifier(
            source: keys,
            issuer: TestKeys.issuer,
            logger: Logger(label: "test"),
            now: now
        )
        try await verifier.load()
        return verifier
    }

    private func expectRefusal(
        _ token: String,
        _ comment: Comment,
        by verifier: CredentialVerifier,
        code: String = "invalid_token"
    ) async {
        do {
            _ = try await verifier.verify(token)
            Issue.record("accepted: \(comment)")
        } catch {
            #expect((error as? APIError)?.kind == .forbidden, comment)
            #expect((error as? APIError)?.code == code, comment)
        }
    }

    @Test("A valid token gives user, session and scope, and is cached")
    func validToken() async throws {
        let verifier = try await loaded()
        let token = try await keys.token(for: ana, session: "s1", scope: "admin")

        let identity = try await verifier.verify(token)

        #expect(identity.user == ana)
        #expect(identity.session == "s1")
        #expect(identity.isAdmin)
        #expect(verifier.cached(token) == identity)
    }

    @Test("A token with an invalid claim is refused")
    func invalidClaims() async throws {
        let verifier = try await loaded()
        let now = Int64(Date().timeIntervalSince1970)
        let changes: [(Comment, (inout AccessToken.Claims) -> Void)] = [
            ("not yet valid", { $0.nbf = now + 60 }),
            ("issued in the future", { $0.iat = now + 60 }),
            ("another issuer", { $0.iss = "http://evil.example" }),
            ("another audience", { $0.aud = "other" }),
            ("no application", { $0.app = "" }),
            ("another application", { $0.app = "other" }),
            ("no session", { $0.sid = "" }),
            ("no subject", { $0.sub = "" }),
            ("a subject too long", { $0.sub = String(repeating: "x", count: 256) }),
        ]
        for (comment, change) in changes {
            await expectRefusal(try await keys.token(for: ana, change: change), comment, by: verifier)
        }
    }

    @Test("A valid token whose lifetime is over is reported as expired")
    func expired() async throws {
        let verifier = try await loaded()
        let now = Int64(Date().timeIntervalSince1970)
        for expiry in [now - 1, now, 0, Int64.min] {
            let token = try await keys.token(for: ana) { $0.exp = expiry }
            await expectRefusal(token, "exp \(expiry)", by: verifier, code: "token_expired")
        }
        let forged = try await TestKeys().token(for: ana) { $0.exp = now - 1 }
        await expectRefusal(forged, "expired, signed by another key", by: verifier)
        let foreign = try await keys.token(for: ana) {
            $0.exp = now - 1
            $0.iss = "http://evil.example"
        }
        await expectRefusal(foreign, "expired, of another issuer", by: verifier)
    }

    @Test("An expired token of an ended session is reported as ended")
    func expiredAndEnded() async throws {
        keys.revoke("ended")
        let verifier = try await loaded()
        let token = try await keys.token(for: ana, session: "ended", lifetime: -1)

        await expectRefusal(token, "refreshing does not help", by: verifier, code: "session_ended")
    }

    @Test("A token with another type, key or algorithm, or with extensions, is refused")
    func invalidHeaders() async throws {
        let verifier = try await loaded()
        let headers: [(Comment, JWTHeader)] = [
            ("no type", ["typ": "JWT"]),
            ("crit", ["crit": ["exp"]]),
            ("jku", ["jku": "https://evil.example/keys"]),
            ("x5u", ["x5u": "https://evil.example/cert"]),
            ("jwk", ["jwk": ["kty": "EC"]]),
            ("unknown key", ["kid": "other"]),
            ("path as key", ["kid": "../../../../dev/null"]),
            ("empty key", ["kid": ""]),
            ("another algorithm", ["alg": "ES384"]),
        ]
        for (comment, header) in headers {
            await expectRefusal(try await keys.token(for: ana, header: header), comment, by: verifier)
        }
    }

    @Test("A forged or respelled token is refused")
    func forgedTokens() async throws {
        let verifier = try await loaded()
        let token = try await keys.token(for: ana)
        let parts = token.split(separator: ".").map(String.init)
        let signature = try #require(Base64URL.decode(parts[2]))
        func header(_ json: String) -> String { Base64URL.encode(Data(json.utf8)) }
        let none = ["none", "None", "NONE", "nOnE"].map {
            "\(header(#"{"alg":"\#($0)","typ":"at+jwt","kid":"test-key"}"#)).\(parts[1])."
        }
        let hs256 = header(#"{"alg":"HS256","typ":"at+jwt","kid":"test-key"}"#)
        let hmacKey = SymmetricKey(data: Data(keys.key.publicKey.pemRepresentation.utf8))
        let mac = HMAC<SHA256>.authenticationCode(for: Data("\(hs256).\(parts[1])".utf8), using: hmacKey)
        let der = try P256.Signing.ECDSASignature(rawRepresentation: signature).derRepresentation
        let zero = Data(repeating: 0, count: 64)
        var lastBits = parts[2]
        lastBits.removeLast()
        let twice = header(#"{"alg":"none","alg":"ES256","typ":"at+jwt","kid":"test-key"}"#)
        let forged =
            none + [
                "\(hs256).\(parts[1]).\(Base64URL.encode(Data(mac)))",
                "\(parts[0]).\(parts[1]).\(Base64URL.encode(zero))",
                "\(parts[0]).\(parts[1]).\(Base64URL.encode(der))",
                "\(parts[0]).\(parts[1]).\(parts[2])==",
                "\(parts[0]).\(parts[1]). \(parts[2])",
                "\(parts[0]).\(parts[1]).\(lastBits)9",
                "\(parts[0]).\(parts[1]).",
                "\(parts[0]).\(parts[1])",
                "\(token).x",
                "\(twice).\(parts[1]).\(parts[2])",
                "", ".", "..", "...", String(repeating: "a", count: 100_000),
            ]
        for token in forged {
            await expectRefusal(token, "\(token.prefix(200))", by: verifier)
        }
        #expect(throws: Never.self) { try #require(token == parts.joined(separator: ".")) }
    }

    @Test("A token signed with another key is refused")
    func otherKey() async throws {
        let verifier = try await loaded()
        let token = try await TestKeys().token(for: ana)

        await expectRefusal(token, "signed by another key of the same name", by: verifier)
    }

    @Test("A cached token expires")
    func cachedTokenExpires() async throws {
        let offset = Mutex(0.0)
        let verifier = try await loaded { Date().addingTimeInterval(offset.withLock { $0 }) }
        let token = try await keys.token(for: ana, lifetime: 60)
        _ = try await verifier.verify(token)

        offset.withLock { $0 = 61 }

        #expect(verifier.cached(token) == nil)
        await expectRefusal(token, "expired after it was cached", by: verifier, code: "token_expired")
    }

    @Test("A revoked session ends its cached tokens and is reported")
    func revokedSession() async throws {
        let verifier = try await loaded()
        let token = try await keys.token(for: ana, session: "ending")
        _ = try await verifier.verify(token)
        let following = Task { await verifier.run() }
        defer { following.cancel() }
        let ended = AsyncStream<String>.makeStream()
        verifier.onRevocation { ended.continuation.yield($0) }

        keys.revoke("ending")

        var sessions = ended.stream.makeAsyncIterator()
        #expect(await sessions.next() == "ending")
        #expect(verifier.cached(token) == nil)
        await expectRefusal(token, "a token of an ended session", by: verifier, code: "session_ended")
    }

    @Test("Without the key document every token is a 503")
    func noKeys() async throws {
        let verifier = CredentialVerifier(source: keys, issuer: TestKeys.issuer, logger: Logger(label: "test"))
        let token = try await keys.token(for: ana)

        await #expect(throws: APIError.unavailable("the key document")) { try await verifier.verify(token) }
        #expect(!verifier.isLoaded)
    }

    @Test("The cache of tokens is limited")
    func cacheLimit() async throws {
        let verifier = CredentialVerifier(
            source: keys,
            issuer: TestKeys.issuer,
            logger: Logger(label: "test"),
            cacheCapacity: 8
        )
        try await verifier.load()
        var tokens: [String] = []
        for _ in 0..<20 {
            tokens.append(try await keys.token(for: ana))
            _ = try await verifier.verify(tokens[tokens.count - 1])
        }

        #expect(tokens.count { verifier.cached($0) != nil } <= 8)
        #expect(verifier.cached(tokens[19]) != nil)
    }

    @Test("A credential of combining marks is rejected within 50 ms of processor time per 100 kB")
    func cost() async throws {
        let verifier = try await loaded()
        // An empty cache does not hash the token.
        _ = try await verifier.verify(try await keys.token(for: ana))
        let marks = String(repeating: "\u{301}\u{316}", count: 15_000)
        func spent() -> Double {
            let start = CostTest.spentByThread()
            #expect(verifier.cached(marks, allowingServer: true) == nil)
            return CostTest.spentByThread() - start
        }

        let least = min(spent(), spent(), spent())

        #expect(least <= CostTest.allowance(for: marks.utf8.count) / 8)
        await expectRefusal(marks, "combining marks", by: verifier)
        await expectRefusal(String(repeating: "a", count: 4_097), "a long text", by: verifier)
        let headers: HTTPFields = [.authorization: "Bearer \(marks)"]
        #expect(throws: APIError.self) { try Credential(headers) }
    }
}
