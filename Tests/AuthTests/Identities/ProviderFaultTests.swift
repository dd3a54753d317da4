import Foundation
import HTTPTypes
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Providers that are away, slow, changed or dishonest.
@Suite(.timeLimit(.minutes(2))) struct ProviderFaultTests {
    @Test func unknownKey() async throws {
        try await withIdentities { fixture in
            #expect(try await fixture.signIn("ana").status == 200)
            try fixture.sandbox.rotateKey(of: .google)
            #expect(try await fixture.signIn("ana").status == 200)

            try fixture.sandbox.rotateKey(of: .google)
            let unknown = try await fixture.signIn("ana")
            #expect(unknown.status == 401 && unknown.problem?.code == "unknown_key")
            fixture.clock.advance(seconds: 300)
            #expect(try await fixture.signIn("ana").status == 200)
        }
    }

    @Test(arguments: [
        ScriptRule(service: .google, status: 503), ScriptRule(service: .google, status: 429),
        ScriptRule(service: .google, behaviour: .reset), ScriptRule(service: .google, behaviour: .html),
        ScriptRule(service: .google, behaviour: .malformed), ScriptRule(service: .google, behaviour: .large),
        ScriptRule(service: .google, behaviour: .cut),
    ])
    func unavailableProvider(_ rule: ScriptRule) async throws {
        try await withIdentities { fixture in
            try fixture.sandbox.script.add(rule)
            let answer = try await fixture.signIn("ana")
            #expect(answer.status == 503 && answer.headers[.retryAfter] != nil, "\(answer.text)")
            fixture.sandbox.script.clear()
            fixture.clock.advance(seconds: 5)
            #expect(try await fixture.signIn("ana").status == 200)
        }
    }

    @Test func staleKeys() async throws {
        try await withIdentities { fixture in
            #expect(try await fixture.signIn("ana").status == 200)
            try fixture.sandbox.script.add(ScriptRule(service: .google, status: 503))
            fixture.clock.advance(seconds: 7_200)
            #expect(try await fixture.signIn("bo").status == 200)
        }
    }

    @Test func unavailableTokenEndpoint() async throws {
        try await withIdentities { fixture in
            for provider in [SandboxService.google, .facebook, .twitter] {
                let name = provider.rawValue
                let authorization = try await fixture.authorization("ana", at: name)
                try fixture.sandbox.script.add(ScriptRule(service: provider, path: "token", status: 503, times: 1))
                let answer = try await fixture.complete(authorization, at: name)
                #expect(answer.status == 503 && answer.headers[.retryAfter] != nil, "\(name): \(answer.text)")
            }
        }
    }

    @Test func facebookToken() async throws {
        try await withIdentities { fixture in
            let ana = try #require(fixture.sandbox.networks.account("ana", on: .facebook))
            let answer = try await fixture.post("facebook", ["accessToken": .string(ana.accessToken)])
            #expect(answer.status == 200 && answer.json["created"].bool == true, "\(answer.text)")
            let unknown = try await fixture.post("facebook", ["accessToken": "made-up"])
            #expect(unknown.status == 401 && unknown.problem?.code == "invalid_access_token")
        }
    }

    @Test func facebookTokenOfOtherApplication() async throws {
        try await withIdentities { fixture in
            let networks = fixture.sandbox.networks
            let token = try #require(networks.token(of: "ana", on: .facebook, givenTo: "another-app"))
            let answer = try await fixture.post("facebook", ["accessToken": .string(token)])
            #expect(answer.status == 401 && answer.problem?.code == "wrong_audience", "\(answer.text)")
        }
    }

    /// Twitter says of a token to nobody which application it was given to.
    @Test func twitterAccessToken() async throws {
        try await withIdentities { fixture in
            let ana = try #require(fixture.sandbox.networks.account("ana", on: .twitter))
            let answer = try await fixture.post("twitter", ["accessToken": .string(ana.accessToken)])
            #expect(answer.status == 400 && answer.problem?.code == "unsupported_proof")
        }
    }
}
