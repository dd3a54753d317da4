import AuthAPI
import Foundation
import HTTPTypes
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The way by a provider's page and back, as a browser goes it.
@Suite(.timeLimit(.minutes(2))) struct ConsentTests {
    @Test(arguments: ["google", "apple", "facebook", "twitter"])
    func aBrowserGoesThereAndComesBackSignedIn(_ provider: String) async throws {
        try await withIdentities { scene in
            let first = try await scene.complete(try await scene.authorization("ana", at: provider), at: provider)
            #expect(first.status == 200 && first.json["created"].bool == true, "\(first.text)")
            let me = try await scene.auth.me(first.json["jwt"].string).json
            #expect(me["fullName"].string == "Ana Albers")
            // Facebook does not say whether an address was verified.
            #expect(me["emailVerified"].bool == (provider != "facebook"))
            let second = try await scene.complete(try await scene.authorization("ana", at: provider), at: provider)
            #expect(second.json["userId"] == first.json["userId"] && second.json["created"].bool == false)
        }
    }

    @Test func whatComesBackIsGoodOnceAndForWhoBegan() async throws {
        try await withIdentities { scene in
            let authorization = try await scene.authorization("ana", at: "google")
            let other = String(repeating: "w", count: 43)
            let thief = try await scene.complete(authorization, at: "google", verifier: other)
            #expect(thief.status == 401 && thief.problem?.code == "invalid_authorization")
            #expect(try await scene.complete(authorization, at: "apple").status == 401)
            #expect(try await scene.complete(authorization, at: "google").status == 200)
            #expect(try await scene.complete(authorization, at: "google").status == 401)
        }
    }

    @Test func anAnswerWithoutOurStateIsRefused() async throws {
        try await withIdentities { scene in
            let step = try await scene.agree(try await scene.begin("google"), as: "ana")
            for state in [nil, "", "made-up", ProofNonce.random()] {
                let answer = try await scene.back(step.changing("state", to: state))
                #expect(answer.status == 400 && answer.problem?.code == "unknown_state")
                #expect(answer.problem?.field == "state" && answer.headers[.location] == nil)
            }
            #expect(try await scene.back(step).status == 303)
            #expect(try await scene.back(step).status == 400)
        }
    }

    /// A provider that is not honest sends somebody's code of another to us, or ours of another to itself (RFC 9207).
    @Test func anAnswerOfAnotherProviderIsRefused() async throws {
        try await withIdentities { scene in
            let step = try await scene.agree(try await scene.begin("google"), as: "ana")
            for issuer in ["https://evil.example", "\(scene.sandbox.url)/apple", "\(scene.sandbox.url)/google/", nil] {
                let answer = try await scene.back(step.changing("iss", to: issuer))
                #expect(answer.status == 401 && answer.problem?.code == "wrong_issuer", "\(issuer ?? "none")")
            }
            var elsewhere = step
            elsewhere.url = step.url.replacing("/google/callback", with: "/apple/callback")
            #expect(try await scene.back(elsewhere).status == 400)

            let twitter = try await scene.agree(try await scene.begin("twitter"), as: "ana")
            let named = try await scene.back(twitter.changing("iss", to: "\(scene.sandbox.url)/google"))
            #expect(named.status == 401)
        }
    }

    @Test func whoSaysNoIsSentOnWithAnError() async throws {
        try await withIdentities { scene in
            for provider in ["google", "apple", "facebook", "twitter"] {
                let answer = try await scene.back(try await scene.agree(try await scene.begin(provider), as: "-"))
                #expect(answer.status == 303)
                let onward = IdentityScene.Step(answer.headers[.location] ?? "")
                #expect(onward["error"] == "access_denied" && onward["provider"] == provider)
                #expect(onward["authorization"] == nil)
            }
        }
    }

    @Test func whoIsAwayTooLongIsNotAwaited() async throws {
        try await withIdentities { scene in
            let step = try await scene.agree(try await scene.begin("apple"), as: "ana")
            let authorization = try await scene.authorization("ana", at: "apple")
            scene.clock.advance(seconds: 600)
            #expect(try await scene.back(step).status == 400)
            #expect(try await scene.complete(authorization, at: "apple").status == 401)
        }
    }

    @Test func nobodyIsSentWhereTheOperatorDoesNotKnow() async throws {
        try await withIdentities { scene in
            let challenge = ProofNonce.challenge(of: IdentityScene.verifier)
            let wrong: [(String, String, String)] = [
                ("https://app.example.org/in/", challenge, "redirectUri"),
                ("https://app.example.org/in?x=1", challenge, "redirectUri"),
                ("https://evil.example", challenge, "redirectUri"), ("", challenge, "redirectUri"),
                (IdentityScene.app, "short", "codeChallenge"), (IdentityScene.app, challenge + "=", "codeChallenge"),
            ]
            for (redirect, challenge, field) in wrong {
                let answer = try await scene.auth.post(
                    "/auth/identities/google/authorizations",
                    json(["redirectUri": .string(redirect), "codeChallenge": .string(challenge)])
                )
                #expect(answer.status == 400 && answer.problem?.field == field, "\(redirect) \(challenge)")
            }
        }
    }

    @Test func applesPageTellsANameOnceAndItIsKept() async throws {
        try await withIdentities { scene in
            let answer = try await scene.complete(try await scene.authorization("dan", at: "apple"), at: "apple")
            #expect(try await scene.auth.me(answer.json["jwt"].string).json["fullName"].string == "Dan Duval")
        }
    }

    // MARK: The page of an app's own

    /// What an app that went by itself comes back with.
    private static func code(_ scene: IdentityScene, nonce: String? = nil) async throws -> IdentityScene.Step {
        let page = FormCoding.url(
            "\(scene.sandbox.url)/google/authorize",
            adding: [
                "response_type": "code", "client_id": "roost-google", "redirect_uri": IdentityScene.app,
                "scope": "openid email", "code_challenge": ProofNonce.challenge(of: IdentityScene.verifier),
                "code_challenge_method": "S256", "nonce": nonce,
            ]
        )
        return try await scene.agree(page, as: "ana")
    }

    private static func redeem(
        _ step: IdentityScene.Step,
        _ scene: IdentityScene,
        _ change: [String: JSONValue] = [:]
    ) async throws -> TestAnswer {
        let fields: [String: JSONValue] = [
            "code": .string(step["code"] ?? ""), "codeVerifier": .string(IdentityScene.verifier),
            "redirectUri": .string(IdentityScene.app), "iss": .string(step["iss"] ?? ""),
        ]
        return try await scene.post("google", fields.merging(change) { $1 })
    }

    @Test func anAppsOwnCodeIsTakenOnce() async throws {
        try await withIdentities { scene in
            let step = try await Self.code(scene)
            #expect(try await Self.redeem(step, scene).status == 200)
            let again = try await Self.redeem(step, scene)
            #expect(again.status == 401 && again.problem?.code == "invalid_code")
        }
    }

    @Test func aCodeIsHeldToTheAppThatAskedForIt() async throws {
        try await withIdentities { scene in
            let other = String(repeating: "w", count: 43)
            let stolen = try await Self.redeem(try await Self.code(scene), scene, ["codeVerifier": .string(other)])
            #expect(stolen.status == 401 && stolen.problem?.code == "invalid_code")
            let evil: [String: JSONValue] = ["redirectUri": "https://evil.example"]
            let elsewhere = try await Self.redeem(try await Self.code(scene), scene, evil)
            #expect(elsewhere.status == 400 && elsewhere.problem?.code == "unregistered_url")
            for issuer: JSONValue in ["https://evil.example", .null] {
                let mixed = try await Self.redeem(try await Self.code(scene), scene, ["iss": issuer])
                #expect(mixed.status == 401 && mixed.problem?.code == "wrong_issuer")
            }
        }
    }

    @Test func aNonceThatACodeWasAskedForWithIsNeeded() async throws {
        try await withIdentities { scene in
            let asked = ProofNonce.claim(of: "n")
            for (nonce, given, status) in [
                (asked, nil, 401), (asked, "m", 401), (asked, "n", 200),
                // And one that was asked for without is not somebody else's who had one.
                (nil, "n", 401),
            ] as [(String?, String?, Int)] {
                let step = try await Self.code(scene, nonce: nonce)
                let answer = try await Self.redeem(step, scene, given.map { ["nonce": .string($0)] } ?? [:])
                #expect(answer.status == status, "\(given ?? "none"): \(answer.text)")
                #expect(status == 200 || answer.problem?.code == "wrong_nonce")
            }
        }
    }
}
