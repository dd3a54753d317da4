import AuthAPI
import Foundation
import HTTPTypes
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The sign-in through a provider's page, as a browser does it.
@Suite("Sign-in through a provider's page", .timeLimit(.minutes(2))) struct ConsentTests {
    @Test(
        "A first sign-in makes an account, and a second one finds it",
        arguments: ["google", "apple", "facebook", "twitter"]
    )
    func signIn(_ provider: String) async throws {
        try await withIdentities { fixture in
            let first = try await fixture.complete(try await fixture.authorization("ana", at: provider), at: provider)
            #expect(first.status == 200, "\(first.text)")
            #expect(first.json["created"].bool == true, "\(first.text)")
            let me = try await fixture.auth.me(first.json["jwt"].string).json
            #expect(me["fullName"].string == "Ana Albers")
            // Facebook does not report whether an address was verified.
            #expect(me["emailVerified"].bool == (provider != "facebook"))
            let second = try await fixture.complete(try await fixture.authorization("ana", at: provider), at: provider)
            #expect(second.json["userId"] == first.json["userId"])
            #expect(second.json["created"].bool == false)
        }
    }

    @Test("An authorization can be used only once, with its verifier and its provider")
    func singleUseAuthorization() async throws {
        try await withIdentities { fixture in
            let authorization = try await fixture.authorization("ana", at: "google")
            let other = String(repeating: "w", count: 43)
            let thief = try await fixture.complete(authorization, at: "google", verifier: other)
            #expect(thief.status == 401)
            #expect(thief.problem?.code == "invalid_authorization")
            #expect(try await fixture.complete(authorization, at: "apple").status == 401)
            #expect(try await fixture.complete(authorization, at: "google").status == 200)
            #expect(try await fixture.complete(authorization, at: "google").status == 401)
        }
    }

    @Test("A request with an unknown or already used OAuth state returns 400 and does not redirect")
    func unknownState() async throws {
        try await withIdentities { fixture in
            let step = try await fixture.agree(try await fixture.begin("google"), as: "ana")
            for state in [nil, "", "made-up", ProofNonce.random()] {
                let answer = try await fixture.callback(step.changing("state", to: state))
                #expect(answer.status == 400)
                #expect(answer.problem?.code == "unknown_state")
                #expect(answer.problem?.field == "state")
                #expect(answer.headers[.location] == nil)
            }
            #expect(try await fixture.callback(step).status == 303)
            #expect(try await fixture.callback(step).status == 400)
        }
    }

    /// A malicious provider may pass on another provider's code, or send our code elsewhere (RFC 9207).
    @Test("A callback with another issuer is refused")
    func issuerMismatch() async throws {
        try await withIdentities { fixture in
            let step = try await fixture.agree(try await fixture.begin("google"), as: "ana")
            for issuer in [
                "https://evil.example", "\(fixture.sandbox.url)/apple", "\(fixture.sandbox.url)/google/", nil,
            ] {
                let answer = try await fixture.callback(step.changing("iss", to: issuer))
                #expect(answer.status == 401, "\(issuer ?? "none")")
                #expect(answer.problem?.code == "wrong_issuer", "\(issuer ?? "none")")
            }
            var elsewhere = step
            elsewhere.url = step.url.replacing("/google/callback", with: "/apple/callback")
            #expect(try await fixture.callback(elsewhere).status == 400)

            let twitter = try await fixture.agree(try await fixture.begin("twitter"), as: "ana")
            let named = try await fixture.callback(twitter.changing("iss", to: "\(fixture.sandbox.url)/google"))
            #expect(named.status == 401)
        }
    }

    @Test("A user who declines is redirected with access_denied")
    func denied() async throws {
        try await withIdentities { fixture in
            for provider in ["google", "apple", "facebook", "twitter"] {
                let answer = try await fixture.callback(
                    try await fixture.agree(try await fixture.begin(provider), as: "-")
                )
                #expect(answer.status == 303)
                let redirected = IdentityFixture.Step(answer.headers[.location] ?? "")
                #expect(redirected["error"] == "access_denied")
                #expect(redirected["provider"] == provider)
                #expect(redirected["authorization"] == nil)
            }
        }
    }

    @Test("A sign-in and an authorization expire after ten minutes")
    func expiry() async throws {
        try await withIdentities { fixture in
            let step = try await fixture.agree(try await fixture.begin("apple"), as: "ana")
            let authorization = try await fixture.authorization("ana", at: "apple")
            fixture.clock.advance(seconds: 600)
            #expect(try await fixture.callback(step).status == 400)
            #expect(try await fixture.complete(authorization, at: "apple").status == 401)
        }
    }

    @Test("A sign-in begins only with a registered redirect URI and a valid code challenge")
    func unregisteredRedirect() async throws {
        try await withIdentities { fixture in
            let challenge = ProofNonce.challenge(of: IdentityFixture.verifier)
            let wrong: [(String, String, String)] = [
                ("https://app.example.org/in/", challenge, "redirectUri"),
                ("https://app.example.org/in?x=1", challenge, "redirectUri"),
                ("https://evil.example", challenge, "redirectUri"), ("", challenge, "redirectUri"),
                (IdentityFixture.app, "short", "codeChallenge"),
                (IdentityFixture.app, challenge + "=", "codeChallenge"),
            ]
            for (redirect, challenge, field) in wrong {
                let answer = try await fixture.auth.post(
                    "/auth/identities/google/authorizations",
                    json(["redirectUri": .string(redirect), "codeChallenge": .string(challenge)])
                )
                #expect(answer.status == 400, "\(redirect) \(challenge)")
                #expect(answer.problem?.field == field, "\(redirect) \(challenge)")
            }
        }
    }

    @Test("The name that Apple sends once becomes the account's name")
    func appleName() async throws {
        try await withIdentities { fixture in
            let answer = try await fixture.complete(try await fixture.authorization("dan", at: "apple"), at: "apple")
            #expect(try await fixture.auth.me(answer.json["jwt"].string).json["fullName"].string == "Dan Duval")
        }
    }

    // MARK: Codes that an app requested itself

    /// The redirect to an app that opened the provider's page itself.
    private static func code(_ fixture: IdentityFixture, nonce: String? = nil) async throws -> IdentityFixture.Step {
        let page = FormCoding.url(
            "\(fixture.sandbox.url)/google/authorize",
            adding: [
                "response_type": "code", "client_id": "roost-google", "redirect_uri": IdentityFixture.app,
                "scope": "openid email", "code_challenge": ProofNonce.challenge(of: IdentityFixture.verifier),
                "code_challenge_method": "S256", "nonce": nonce,
            ]
        )
        return try await fixture.agree(page, as: "ana")
    }

    private static func redeem(
        _ step: IdentityFixture.Step,
        _ fixture: IdentityFixture,
        _ change: [String: JSONValue] = [:]
    ) async throws -> TestHTTPResponse {
        let fields: [String: JSONValue] = [
            "code": .string(step["code"] ?? ""), "codeVerifier": .string(IdentityFixture.verifier),
            "redirectUri": .string(IdentityFixture.app), "iss": .string(step["iss"] ?? ""),
        ]
        return try await fixture.post("google", fields.merging(change) { $1 })
    }

    @Test("A code that an app requested from the provider itself can be used once")
    func appCode() async throws {
        try await withIdentities { fixture in
            let step = try await Self.code(fixture)
            #expect(try await Self.redeem(step, fixture).status == 200)
            let again = try await Self.redeem(step, fixture)
            #expect(again.status == 401)
            #expect(again.problem?.code == "invalid_code")
        }
    }

    @Test("A code is refused with another verifier, redirect URI or issuer")
    func codeOfOtherClient() async throws {
        try await withIdentities { fixture in
            let other = String(repeating: "w", count: 43)
            let stolen = try await Self.redeem(try await Self.code(fixture), fixture, ["codeVerifier": .string(other)])
            #expect(stolen.status == 401)
            #expect(stolen.problem?.code == "invalid_code")
            let evil: [String: JSONValue] = ["redirectUri": "https://evil.example"]
            let elsewhere = try await Self.redeem(try await Self.code(fixture), fixture, evil)
            #expect(elsewhere.status == 400)
            #expect(elsewhere.problem?.code == "unregistered_url")
            for issuer: JSONValue in ["https://evil.example", .null] {
                let mixed = try await Self.redeem(try await Self.code(fixture), fixture, ["iss": issuer])
                #expect(mixed.status == 401)
                #expect(mixed.problem?.code == "wrong_issuer")
            }
        }
    }

    @Test("A code is refused unless its nonce is the one that was requested")
    func missingNonce() async throws {
        try await withIdentities { fixture in
            let asked = ProofNonce.claim(of: "n")
            for (nonce, given, status) in [
                (asked, nil, 401), (asked, "m", 401), (asked, "n", 200),
                // A code that was requested without a nonce cannot be used with one.
                (nil, "n", 401),
            ] as [(String?, String?, Int)] {
                let step = try await Self.code(fixture, nonce: nonce)
                let answer = try await Self.redeem(step, fixture, given.map { ["nonce": .string($0)] } ?? [:])
                #expect(answer.status == status, "\(given ?? "none"): \(answer.text)")
                #expect(status == 200 || answer.problem?.code == "wrong_nonce")
            }
        }
    }
}
