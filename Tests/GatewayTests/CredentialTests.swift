import Credentials
import Foundation
import JWTKit
import TestSupport
import Testing
import Wire

@testable import GatewayServer

@Suite("Credentials at the gateway") struct CredentialTests {
    private static let user = User.ID(application: "roost", user: "ana")

    /// The status and the error code of the response to a request with `fields`.
    private func statusAndCode(_ fixture: GatewayFixture, _ fields: String) async throws -> String {
        let response = try await fixture.perform("GET /auth/me HTTP/1.1\r\nhost: a\r\n\(fields)\r\n")
        return "\(response.status) \(response.code ?? "")"
    }

    @Test("A malformed, forged or expired token is refused and does not reach the service")
    func badCredential() async throws {
        try await withGateway { fixture in
            let good = fixture.token
            let parts = good.split(separator: ".")
            let expired = try await fixture.keys.token(for: Self.user, lifetime: -1)
            let other = try await TestKeys(kid: "other").token(for: Self.user)
            let sameName = try await TestKeys().token(for: Self.user)
            let stranger = try await fixture.keys.token(for: Self.user) { $0.iss = "http://elsewhere" }
            let tampered = "\(parts[0]).\(parts[1]).\(String(parts[2].reversed()))"
            let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.\(parts[1])."
            let bad = [
                "bearer", "Bearer ", "Bearer x", "Bearer  \(good)", "Basic YTpi", "\(good)", "Bearer \(good) x",
                "Bearer \(other)", "Bearer \(sameName)", "Bearer \(stranger)", "Bearer \(tampered)",
                "Bearer \(unsigned)", "Bearer \(good)=", "Bearer \(parts[0]).\(parts[1])",
            ]
            for value in bad {
                let statusAndCode = try await statusAndCode(fixture, "authorization: \(value)\r\n")
                #expect(statusAndCode == "403 invalid_token", "\(value)")
            }
            #expect(try await statusAndCode(fixture, "authorization: Bearer \(expired)\r\n") == "403 token_expired")
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("A request needs exactly one credential")
    func duplicateCredentials() async throws {
        try await withGateway { fixture async throws in
            let good = "authorization: Bearer \(fixture.token)\r\n"
            #expect(try await statusAndCode(fixture, good) == "200 ")
            #expect(try await statusAndCode(fixture, "AUTHORIZATION: bEaReR \(fixture.token)\r\n") == "200 ")
            #expect(try await statusAndCode(fixture, good + good) == "403 invalid_token")
            #expect(try await statusAndCode(fixture, good + "authorization: Bearer x\r\n") == "403 invalid_token")
            #expect(try await statusAndCode(fixture, "x-diuit-session-token: s\r\n") == "403 invalid_token")
            #expect(try await statusAndCode(fixture, "") == "403 authentication_required")
        }
    }

    @Test("A server token of an application is accepted until its key is revoked")
    func applicationServerToken() async throws {
        try await withGateway { fixture async throws in
            let acme = try ApplicationServer(of: "5d0b3c8f1a6e47920c4d8e1f", at: fixture.keys)
            let token = try acme.token()
            let header = "authorization: Bearer \(token)\r\n"
            // The service decides whether the caller may use the route.
            #expect(try await statusAndCode(fixture, header) == "200 ")
            #expect(try await statusAndCode(fixture, header) == "200 ")
            #expect(fixture.keys.requestedKeys.count == 1)
            let sixMinutes = "authorization: Bearer \(try acme.token(lifetime: 360))\r\n"
            #expect(try await statusAndCode(fixture, sixMinutes) == "403 invalid_token")

            let session = acme.key.session.uuidString.lowercased()
            fixture.keys.setKey(acme.key, publicKey: nil)
            fixture.verifier.revoke([Revocation(sessionId: session, serial: 1, until: Date() + 70)])
            #expect(try await statusAndCode(fixture, header) == "403 invalid_token")
        }
    }

    @Test("A session token is accepted in either header, until its session ends")
    func sessionTokenInEitherHeader() async throws {
        try await withGateway { fixture async throws in
            let user = User.ID(application: "5d0b3c8f1a6e47920c4d8e1f", user: "ana")
            let token = fixture.keys.openSession(of: user, session: "s1")
            let header = "x-diuit-session-token: \(token)\r\n"
            #expect(try await statusAndCode(fixture, header) == "200 ")
            #expect(
                try await statusAndCode(fixture, header.uppercased().replacing(token.uppercased(), with: token))
                    == "200 "
            )
            #expect(try await statusAndCode(fixture, "authorization: Bearer \(token)\r\n") == "200 ")
            #expect(try await statusAndCode(fixture, "x-diuit-session-token: \(fixture.token)\r\n") == "200 ")
            #expect(fixture.keys.requestedSessions.count == 1)
            let response = try await fixture.perform("GET /auth/me HTTP/1.1\r\nhost: a\r\n\(header)\r\n")
            #expect(fixture.forwarded(response)["x-diuit-session-token"] == [token])

            #expect(try await statusAndCode(fixture, header + header) == "403 invalid_token")
            let other = SessionToken.random()
            #expect(try await statusAndCode(fixture, "x-diuit-session-token: \(other)\r\n") == "403 invalid_token")
            fixture.keys.revoke("s1")
            try await fixture.verifier.load()
            #expect(try await statusAndCode(fixture, header) == "403 session_ended")
        }
    }

    @Test("The gateway tells the token of an ended session from an unknown token, without having seen the session")
    func endedUnseen() async throws {
        try await withGateway { fixture async throws in
            let jwt = try await fixture.keys.token(for: Self.user, session: "s1")
            let user = User.ID(application: "5d0b3c8f1a6e47920c4d8e1f", user: "ana")
            let token = fixture.keys.openSession(of: user, session: "s2")
            fixture.keys.revoke("s1")
            fixture.keys.revoke("s2")
            fixture.keys.closeSession("s2")
            try await fixture.verifier.load()

            #expect(try await statusAndCode(fixture, "authorization: Bearer \(jwt)\r\n") == "403 session_ended")
            #expect(try await statusAndCode(fixture, "x-diuit-session-token: \(token)\r\n") == "403 session_ended")
            let unknown = SessionToken.random()
            #expect(try await statusAndCode(fixture, "x-diuit-session-token: \(unknown)\r\n") == "403 invalid_token")
        }
    }

    @Test("The authorization header takes precedence over the session token")
    func authorizationTakesPrecedence() async throws {
        try await withGateway { fixture async throws in
            let token = fixture.keys.openSession(of: User.ID(application: "acme", user: "bo"))
            let session = "x-diuit-session-token: \(token)\r\n"
            let good = "authorization: Bearer \(fixture.token)\r\n"
            let bad = "authorization: Bearer x\r\n"
            for fields in [good + session, session + good] {
                #expect(try await statusAndCode(fixture, fields) == "200 ")
            }
            for fields in [bad + session, session + bad, session + "authorization: Basic YTpi\r\n"] {
                #expect(try await statusAndCode(fixture, fields) == "403 invalid_token")
            }
            #expect(fixture.keys.requestedSessions.isEmpty)
        }
    }

    @Test("The rate limit counts users of different applications separately")
    func userLimitCountsSession() async throws {
        try await withGateway(settings: { $0.userRate = 1_000 }) { fixture async throws in
            func left(_ token: String) async throws -> [String] {
                let fields = "x-diuit-session-token: \(token)\r\n"
                return try await fixture.perform("GET /auth/me HTTP/1.1\r\nhost: a\r\n\(fields)\r\n")["ratelimit"]
            }
            for application in ["one", "other"] {
                let token = fixture.keys.openSession(of: User.ID(application: application, user: "ana"))
                #expect(try await left(token) == [#""user";r=9999;t=1"#])
            }
        }
    }

    @Test("A route without security forwards any credential")
    func openRouteForwardsCredential() async throws {
        try await withGateway { fixture in
            let request = "POST /auth/login HTTP/1.1\r\nhost: a\r\nauthorization: Bearer x\r\ncontent-length: 0\r\n\r\n"
            let response = try await fixture.perform(request)
            #expect(response.status == 200)
            #expect(fixture.forwarded(response)["authorization"] == ["Bearer x"])
        }
    }

    @Test("Before the keys are loaded, requests and readiness are a 503, and health is a 200")
    func keysNotLoaded() async throws {
        try await withGateway(isLoaded: false) { fixture in
            let response = try await fixture.get("/auth/me")
            #expect(response.status == 503)
            #expect(response["retry-after"] == ["1"])
            #expect(try await fixture.perform("GET /ready HTTP/1.1\r\nhost: a\r\n\r\n").status == 503)
            #expect(try await fixture.perform("GET /health HTTP/1.1\r\nhost: a\r\n\r\n").status == 200)
            try await fixture.verifier.load()
            #expect(try await fixture.get("/auth/me").status == 200)
            #expect(try await fixture.perform("GET /ready HTTP/1.1\r\nhost: a\r\n\r\n").status == 200)
        }
    }

    @Test("A session that ends is refused on an open connection")
    func sessionEndedOnOpenConnection() async throws {
        try await withGateway { fixture in
            let token = try await fixture.keys.token(for: Self.user, session: "s1")
            try await fixture.connect { connection in
                let request = "GET /auth/me HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \(token)\r\n\r\n"
                try await connection.send(request)
                #expect(try await connection.message()?.status == 200)
                fixture.keys.revoke("s1")
                try await fixture.verifier.load()
                try await connection.send(request)
                #expect(try await connection.message()?.status == 403)
            }
        }
    }

    @Test("The body that arrives while the token is verified reaches the service")
    func bodyDuringVerification() async throws {
        try await withGateway { fixture async throws in
            let body = String(repeating: "x", count: 20_000)
            let request = fixture.signed("POST /conversations/create", fields: "content-length: 20000\r\n", body: body)
            #expect(fixture.forwarded(try await fixture.perform(request)).text == body)
        }
    }
}
