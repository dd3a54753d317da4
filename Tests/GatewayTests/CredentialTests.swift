import Credentials
import Foundation
import JWTKit
import TestSupport
import Testing
import Wire

@testable import GatewayServer

@Suite struct CredentialTests {
    private static let user = User.ID(application: "roost", user: "ana")

    /// The status and the code that a request with `fields` is answered with.
    private func verdict(_ scene: GatewayScene, _ fields: String) async throws -> String {
        let answer = try await scene.ask("GET /auth/me HTTP/1.1\r\nhost: a\r\n\(fields)\r\n")
        return "\(answer.status) \(answer.code ?? "")"
    }

    @Test func aBadCredentialIsRefusedAtTheEdge() async throws {
        try await withGateway { scene in
            let good = scene.token
            let parts = good.split(separator: ".")
            let expired = try await scene.keys.token(for: Self.user, lifetime: -1)
            let other = try await TestKeys(kid: "other").token(for: Self.user)
            let sameName = try await TestKeys().token(for: Self.user)
            let stranger = try await scene.keys.token(for: Self.user) { $0.iss = "http://elsewhere" }
            let tampered = "\(parts[0]).\(parts[1]).\(String(parts[2].reversed()))"
            let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.\(parts[1])."
            let bad = [
                "bearer", "Bearer ", "Bearer x", "Bearer  \(good)", "Basic YTpi", "\(good)", "Bearer \(good) x",
                "Bearer \(other)", "Bearer \(sameName)", "Bearer \(stranger)", "Bearer \(tampered)",
                "Bearer \(unsigned)", "Bearer \(good)=", "Bearer \(parts[0]).\(parts[1])",
            ]
            for value in bad {
                let verdict = try await verdict(scene, "authorization: \(value)\r\n")
                #expect(verdict == "403 invalid_token", "\(value)")
            }
            #expect(try await verdict(scene, "authorization: Bearer \(expired)\r\n") == "403 token_expired")
            #expect(scene.service.requests.isEmpty)
        }
    }

    @Test func oneCredentialIsEnoughAndTwoAreTooMany() async throws {
        try await withGateway { scene async throws in
            let good = "authorization: Bearer \(scene.token)\r\n"
            #expect(try await verdict(scene, good) == "200 ")
            #expect(try await verdict(scene, "AUTHORIZATION: bEaReR \(scene.token)\r\n") == "200 ")
            #expect(try await verdict(scene, good + good) == "403 invalid_token")
            #expect(try await verdict(scene, good + "authorization: Bearer x\r\n") == "403 invalid_token")
            #expect(try await verdict(scene, "x-diuit-session-token: s\r\n") == "403 invalid_token")
            #expect(try await verdict(scene, "") == "403 authentication_required")
        }
    }

    @Test func whatAnApplicationsServerSignsIsPassedOn() async throws {
        try await withGateway { scene async throws in
            let acme = try ApplicationServer(of: "5d0b3c8f1a6e47920c4d8e1f", at: scene.keys)
            let token = try acme.token()
            let header = "authorization: Bearer \(token)\r\n"
            // Whether it may, the service says.
            #expect(try await verdict(scene, header) == "200 ")
            #expect(try await verdict(scene, header) == "200 ")
            #expect(scene.keys.askedKeys.count == 1)
            let sixMinutes = "authorization: Bearer \(try acme.token(lifetime: 360))\r\n"
            #expect(try await verdict(scene, sixMinutes) == "403 invalid_token")

            let session = acme.key.session.uuidString.lowercased()
            scene.keys.setKey(acme.key, publicKey: nil)
            scene.verifier.revoke([Revocation(sessionId: session, serial: 1, until: Date() + 70)])
            #expect(try await verdict(scene, header) == "403 invalid_token")
        }
    }

    @Test func aSessionsTokenIsACredentialInEitherHeader() async throws {
        try await withGateway { scene async throws in
            let user = User.ID(application: "5d0b3c8f1a6e47920c4d8e1f", user: "ana")
            let token = scene.keys.openSession(of: user, session: "s1")
            let header = "x-diuit-session-token: \(token)\r\n"
            #expect(try await verdict(scene, header) == "200 ")
            #expect(try await verdict(scene, header.uppercased().replacing(token.uppercased(), with: token)) == "200 ")
            #expect(try await verdict(scene, "authorization: Bearer \(token)\r\n") == "200 ")
            #expect(try await verdict(scene, "x-diuit-session-token: \(scene.token)\r\n") == "200 ")
            #expect(scene.keys.askedSessions.count == 1)
            let answer = try await scene.ask("GET /auth/me HTTP/1.1\r\nhost: a\r\n\(header)\r\n")
            #expect(scene.seen(answer)["x-diuit-session-token"] == [token])

            #expect(try await verdict(scene, header + header) == "403 invalid_token")
            let other = SessionToken.random()
            #expect(try await verdict(scene, "x-diuit-session-token: \(other)\r\n") == "403 invalid_token")
            scene.keys.revoke("s1")
            try await scene.verifier.load()
            #expect(try await verdict(scene, header) == "403 session_ended")
        }
    }

    @Test("The edge tells the token of an ended session from an unknown token, without having seen the session")
    func endedUnseen() async throws {
        try await withGateway { scene async throws in
            let jwt = try await scene.keys.token(for: Self.user, session: "s1")
            let user = User.ID(application: "5d0b3c8f1a6e47920c4d8e1f", user: "ana")
            let token = scene.keys.openSession(of: user, session: "s2")
            scene.keys.revoke("s1")
            scene.keys.revoke("s2")
            scene.keys.closeSession("s2")
            try await scene.verifier.load()

            #expect(try await verdict(scene, "authorization: Bearer \(jwt)\r\n") == "403 session_ended")
            #expect(try await verdict(scene, "x-diuit-session-token: \(token)\r\n") == "403 session_ended")
            let unknown = SessionToken.random()
            #expect(try await verdict(scene, "x-diuit-session-token: \(unknown)\r\n") == "403 invalid_token")
        }
    }

    @Test func whereBothHeadersAreAuthorizationSaysWhoAsks() async throws {
        try await withGateway { scene async throws in
            let token = scene.keys.openSession(of: User.ID(application: "acme", user: "bo"))
            let session = "x-diuit-session-token: \(token)\r\n"
            let good = "authorization: Bearer \(scene.token)\r\n"
            let bad = "authorization: Bearer x\r\n"
            for fields in [good + session, session + good] { #expect(try await verdict(scene, fields) == "200 ") }
            for fields in [bad + session, session + bad, session + "authorization: Basic YTpi\r\n"] {
                #expect(try await verdict(scene, fields) == "403 invalid_token")
            }
            #expect(scene.keys.askedSessions.isEmpty)
        }
    }

    @Test func aLimitOfAPersonCountsHisSession() async throws {
        try await withGateway(settings: { $0.userRate = 1_000 }) { scene async throws in
            func left(_ token: String) async throws -> [String] {
                let fields = "x-diuit-session-token: \(token)\r\n"
                return try await scene.ask("GET /auth/me HTTP/1.1\r\nhost: a\r\n\(fields)\r\n")["ratelimit"]
            }
            for application in ["one", "other"] {
                let token = scene.keys.openSession(of: User.ID(application: application, user: "ana"))
                #expect(try await left(token) == [#""user";r=9999;t=1"#])
            }
        }
    }

    @Test func anOpenRouteTakesWhatIsSentAndLetsTheServiceJudge() async throws {
        try await withGateway { scene in
            let request = "POST /auth/login HTTP/1.1\r\nhost: a\r\nauthorization: Bearer x\r\ncontent-length: 0\r\n\r\n"
            let answer = try await scene.ask(request)
            #expect(answer.status == 200)
            #expect(scene.seen(answer)["authorization"] == ["Bearer x"])
        }
    }

    @Test func withoutKeysAGoodCredentialIsNotCalledBad() async throws {
        try await withGateway(isLoaded: false) { scene in
            let answer = try await scene.get("/auth/me")
            #expect(answer.status == 503)
            #expect(answer["retry-after"] == ["1"])
            #expect(try await scene.ask("GET /ready HTTP/1.1\r\nhost: a\r\n\r\n").status == 503)
            #expect(try await scene.ask("GET /health HTTP/1.1\r\nhost: a\r\n\r\n").status == 200)
            try await scene.verifier.load()
            #expect(try await scene.get("/auth/me").status == 200)
            #expect(try await scene.ask("GET /ready HTTP/1.1\r\nhost: a\r\n\r\n").status == 200)
        }
    }

    @Test func aSessionThatEndedIsRefusedOnAConnectionThatIsOpen() async throws {
        try await withGateway { scene in
            let token = try await scene.keys.token(for: Self.user, session: "s1")
            try await scene.connect { connection in
                let request = "GET /auth/me HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \(token)\r\n\r\n"
                try await connection.send(request)
                #expect(try await connection.message()?.status == 200)
                scene.keys.revoke("s1")
                try await scene.verifier.load()
                try await connection.send(request)
                #expect(try await connection.message()?.status == 403)
            }
        }
    }

    @Test func aBodySentWithATokenNotSeenBeforeIsNotLost() async throws {
        try await withGateway { scene async throws in
            let body = String(repeating: "x", count: 20_000)
            let request = scene.signed("POST /conversations/create", fields: "content-length: 20000\r\n", body: body)
            #expect(scene.seen(try await scene.ask(request)).text == body)
        }
    }
}
