import AuthAPI
import Foundation
import HTTPTypes
import SandboxServer
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Sign-in with the proof that a provider gave an app.
@Suite("Sign-in with identity providers", .timeLimit(.minutes(2))) struct IdentityTests {
    @Test("A first sign-in makes an account with the provider's data, and a second one finds it")
    func newAccount() async throws {
        try await withIdentities { fixture in
            let first = try await fixture.signIn("ana")
            #expect(first.status == 200)
            #expect(first.json["created"].bool == true)
            #expect(first.headers[.cacheControl] == "no-store")
            let second = try await fixture.signIn("ana")
            #expect(second.json["created"].bool == false)
            #expect(second.json["userId"] == first.json["userId"])
            #expect(second.json["refreshToken"] != first.json["refreshToken"])

            let me = try await fixture.auth.me(first.json["jwt"].string).json
            #expect(me["fullName"].string == "Ana Albers")
            #expect(me["username"] == .null)
            #expect(me["email"].string == "ana@gmail.com")
            #expect(me["emailVerified"].bool == true)
            #expect(me["isAnonymous"].bool == false)
            #expect(try await fixture.signIn("bo").json["userId"] != first.json["userId"])
        }
    }

    @Test("Concurrent first sign-ins make one account")
    func concurrentFirstSignIns() async throws {
        try await withIdentities { fixture in
            let answers = try await withThrowingTaskGroup(of: TestHTTPResponse.self) { tasks in
                for _ in 0..<8 { tasks.addTask { try await fixture.signIn("ana") } }
                return try await tasks.reduce(into: [TestHTTPResponse]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(Set(answers.map { $0.json["userId"] }).count == 1)
            #expect(answers.filter { $0.json["created"].bool == true }.count == 1)
        }
    }

    @Test("A token with a wrong audience, issuer, time or nonce is refused")
    func foreignTokens() async throws {
        try await withIdentities { fixture in
            let wrong: [(String, JSONValue, String)] = [
                ("aud", "another-app", "wrong_audience"), ("azp", "another-app", "wrong_audience"),
                ("iss", "https://accounts.google.com", "wrong_issuer"),
                ("iss", .string("\(fixture.sandbox.url)/apple"), "wrong_issuer"),
                ("exp", .integer(1), "id_token_expired"), ("iat", .integer(4_000_000_000), "id_token_not_yet_valid"),
                ("sub", .null, "malformed_claims"),
                ("nonce", "another", "wrong_nonce"), ("nonce", .null, "wrong_nonce"),
            ]
            for (name, value, code) in wrong {
                let answer = try await fixture.signIn("ana", claims: [name: value])
                #expect(answer.status == 401, "\(name): \(answer.text)")
                #expect(answer.problem?.code == code, "\(name): \(answer.text)")
            }
            let ios = try await fixture.signIn("ana", claims: ["azp": "roost-ios"], audience: "roost-google")
            #expect(ios.status == 200)

            // A token of Google, presented as Apple's.
            let draft = IDTokenDraft(person: "ana", nonce: ProofNonce.claim(of: "n"))
            let token = try #require(try fixture.sandbox.idToken(draft, by: .google))
            let elsewhere = try await fixture.post("apple", ["idToken": .string(token), "nonce": "n"])
            #expect(elsewhere.status == 401)
        }
    }

    @Test("A token needs the nonce that only the app knows")
    func nonce() async throws {
        try await withIdentities { fixture in
            let draft = IDTokenDraft(person: "ana", nonce: ProofNonce.claim(of: "kept by the app"))
            let token = try #require(try fixture.sandbox.idToken(draft, by: .google))
            // A thief of the token knows its claims, but not the nonce.
            let claim = ProofNonce.claim(of: "kept by the app")
            let thief = try await fixture.post("google", ["idToken": .string(token), "nonce": .string(claim)])
            #expect(thief.status == 401)
            #expect(thief.problem?.code == "wrong_nonce")
            let without = try await fixture.post("google", ["idToken": .string(token)])
            #expect(without.status == 400)
            #expect(without.problem?.field == "nonce")
            let spaced = try await fixture.post("google", ["idToken": .string(token), "nonce": "kept by the app"])
            #expect(spaced.status == 400)
            #expect(spaced.problem?.field == "nonce")
        }
    }

    @Test("A sign-in has exactly one proof, complete and well formed")
    func oneProof() async throws {
        try await withIdentities { fixture in
            let wrong: [([String: JSONValue], String)] = [
                ([:], "idToken"), (["idToken": "", "nonce": "n"], "idToken"),
                (["accessToken": "a", "code": "b"], "code"), (["idToken": "a", "accessToken": "b"], "accessToken"),
                (["authorization": "short"], "authorization"),
                (["authorization": .string(String(repeating: "a", count: 43))], "codeVerifier"),
                (["code": "c"], "codeVerifier"), (["code": "c", "codeVerifier": "short"], "codeVerifier"),
                (["code": "c", "codeVerifier": .string(IdentityFixture.verifier)], "redirectUri"),
                (["idToken": .integer(1)], "idToken"), (["idToken": "a b", "nonce": "n"], "idToken"),
                (["accessToken": "a", "deviceId": ""], "deviceId"), (["accessToken": "a", "fullName": ""], "fullName"),
            ]
            for (fields, field) in wrong {
                let answer = try await fixture.post("google", fields)
                #expect(answer.status == 400, "\(fields): \(answer.text)")
                #expect(answer.problem?.field == field, "\(fields): \(answer.text)")
            }
        }
    }

    @Test("A provider that is not configured is a 404")
    func unknownProvider() async throws {
        try await withIdentities(settings: ["APPLE_CLIENT_ID": ""]) { fixture in
            for name in ["apple", "corp", "Google", "google%00"] {
                let answer = try await fixture.post(name, ["idToken": "a", "nonce": "n"])
                #expect(answer.status == 404, "\(name)")
            }
        }
    }

    @Test("An invalid credential is refused even with a valid proof")
    func invalidCredential() async throws {
        try await withIdentities { fixture in
            let answer = try await fixture.signIn("ana", token: "expired.or.worse")
            #expect(answer.status == 403)
        }
    }

    @Test("Failed sign-ins of one client address are limited")
    func addressThrottle() async throws {
        try await withIdentities(settings: ["LOGIN_FAILURES_PER_ADDRESS_MAX": "3"]) { fixture in
            for _ in 0..<3 {
                let answer = try await fixture.signIn("ana", claims: ["aud": "x"], address: "192.0.2.7")
                #expect(answer.status == 401)
            }
            let more = try await fixture.signIn("ana", address: "192.0.2.7")
            #expect(more.status == 429)
            #expect(more.headers[.retryAfter] != nil)
            #expect(try await fixture.signIn("ana", address: "192.0.2.8").status == 200)
            fixture.clock.advance(seconds: 901)
            #expect(try await fixture.signIn("ana", address: "192.0.2.7").status == 200)
        }
    }

    @Test("A new account publishes its name and picture once")
    func changeEvent() async throws {
        let photos = EventRecorder(callee: "photos")
        try await withIdentities(
            settings: ["EVENT_SUBSCRIBERS": "user.changed=photos"],
            peers: .with(["photos": photos.client])
        ) { fixture in
            let ana = try await fixture.person("ana")
            _ = try await fixture.person("ana")
            let bo = try await fixture.person("bo")

            let changes = try await photos.events(2).map { try $0.content(as: UserChanged.self) }
            // The order of the two users is not fixed, and each appears once.
            #expect(changes.map(\.userId).sorted() == [ana.userId, bo.userId].sorted())
            let ofAna = changes.first { $0.userId == ana.userId }
            #expect(ofAna?.fullName == "Ana Albers")
            #expect(ofAna?.username == nil)
            #expect(ofAna?.pictureUrl == "\(fixture.sandbox.url)/sandbox/media/500001")
        }
    }

    @Test("The name that the app sends is used if the provider gives none")
    func suggestedName() async throws {
        try await withIdentities { fixture in
            let nonce = ProofNonce.random()
            let draft = IDTokenDraft(person: "cara", nonce: ProofNonce.claim(of: nonce))
            let token = try #require(try fixture.sandbox.idToken(draft, by: .apple))
            let fields: [String: JSONValue] = [
                "idToken": .string(token), "nonce": .string(nonce), "fullName": "Cara C.", "deviceId": "phone",
            ]
            let answer = try await fixture.post("apple", fields)
            #expect(answer.status == 200, "\(answer.text)")
            let me = try await fixture.auth.me(answer.json["jwt"].string).json
            #expect(me["fullName"].string == "Cara C.")
            #expect(me["email"].string == "cara@icloud.com")
            let sessions = try await fixture.auth.service.send(.get, "/auth/sessions", token: answer.json["jwt"].string)
            #expect(sessions.json["sessions"][0]["deviceId"].string == "phone")
        }
    }
}
