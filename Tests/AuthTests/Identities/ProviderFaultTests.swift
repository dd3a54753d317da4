import Foundation
import HTTPTypes
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Providers that are unavailable, slow, changed or dishonest.
@Suite("Faults of providers", .timeLimit(.minutes(2))) struct ProviderFaultTests {
    @Test("A rotated key is fetched, at most every five minutes")
    func unknownKey() async throws {
        try await withIdentities { fixture in
            #expect(try await fixture.signIn("ana").status == 200)
            try fixture.sandbox.rotateKey(of: .google)
            #expect(try await fixture.signIn("ana").status == 200)

            try fixture.sandbox.rotateKey(of: .google)
            let unknown = try await fixture.signIn("ana")
            #expect(unknown.status == 401)
            #expect(unknown.problem?.code == "unknown_key")
            fixture.clock.advance(seconds: 300)
            #expect(try await fixture.signIn("ana").status == 200)
        }
    }

    @Test(
        "An unavailable provider or a malformed response is a 503 with Retry-After",
        arguments: [
            ScriptRule(service: .google, status: 503), ScriptRule(service: .google, status: 429),
            ScriptRule(service: .google, behaviour: .reset), ScriptRule(service: .google, behaviour: .html),
            ScriptRule(service: .google, behaviour: .malformed), ScriptRule(service: .google, behaviour: .large),
            ScriptRule(service: .google, behaviour: .cut),
        ]
    )
    func unavailableProvider(_ rule: ScriptRule) async throws {
        try await withIdentities { fixture in
            try fixture.sandbox.script.add(rule)
            let answer = try await fixture.signIn("ana")
            #expect(answer.status == 503, "\(answer.text)")
            #expect(answer.headers[.retryAfter] != nil, "\(answer.text)")
            fixture.sandbox.script.clear()
            fixture.clock.advance(seconds: 5)
            #expect(try await fixture.signIn("ana").status == 200)
        }
    }

    @Test("Known keys serve while the provider is unavailable")
    func staleKeys() async throws {
        try await withIdentities { fixture in
            #expect(try await fixture.signIn("ana").status == 200)
            try fixture.sandbox.script.add(ScriptRule(service: .google, status: 503))
            fixture.clock.advance(seconds: 7_200)
            #expect(try await fixture.signIn("bo").status == 200)
        }
    }

    @Test("An unavailable token endpoint is a 503 with Retry-After")
    func unavailableTokenEndpoint() async throws {
        try await withIdentities { fixture in
            for provider in [SandboxService.google, .facebook, .twitter] {
                let name = provider.rawValue
                let authorization = try await fixture.authorization("ana", at: name)
                try fixture.sandbox.script.add(ScriptRule(service: provider, path: "token", status: 503, times: 1))
                let answer = try await fixture.complete(authorization, at: name)
                #expect(answer.status == 503, "\(name): \(answer.text)")
                #expect(answer.headers[.retryAfter] != nil, "\(name): \(answer.text)")
            }
        }
    }

    @Test("A Facebook access token signs in, an unknown one does not")
    func facebookToken() async throws {
        try await withIdentities { fixture in
            let ana = try #require(fixture.sandbox.networks.account("ana", on: .facebook))
            let answer = try await fixture.post("facebook", ["accessToken": .string(ana.accessToken)])
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["created"].bool == true, "\(answer.text)")
            let unknown = try await fixture.post("facebook", ["accessToken": "made-up"])
            #expect(unknown.status == 401)
            #expect(unknown.problem?.code == "invalid_access_token")
        }
    }

    @Test("A Facebook access token of another application is refused")
    func facebookTokenOfOtherApplication() async throws {
        try await withIdentities { fixture in
            let networks = fixture.sandbox.networks
            let token = try #require(networks.token(of: "ana", on: .facebook, givenTo: "another-app"))
            let answer = try await fixture.post("facebook", ["accessToken": .string(token)])
            #expect(answer.status == 401, "\(answer.text)")
            #expect(answer.problem?.code == "wrong_audience", "\(answer.text)")
        }
    }

    /// Twitter does not reveal which application a token was issued to.
    @Test("A Twitter access token is no accepted proof")
    func twitterAccessToken() async throws {
        try await withIdentities { fixture in
            let ana = try #require(fixture.sandbox.networks.account("ana", on: .twitter))
            let answer = try await fixture.post("twitter", ["accessToken": .string(ana.accessToken)])
            #expect(answer.status == 400)
            #expect(answer.problem?.code == "unsupported_proof")
        }
    }
}
