import AsyncHTTPClient
import AuthAPI
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Sign-in with PyPI's oidc-provider-mock, an independent provider.
@Suite("Sign-in with an independent provider", .timeLimit(.minutes(5))) struct MockProviderTests {
    private static let app = "https://app.example.org/in"
    private static let verifier = String(repeating: "v", count: 43)
    private static let ana = json([
        "sub": "ana-1", "name": "Ana Albers", "email": "ana@example.org", "email_verified": .bool(true),
    ])

    @Test("A sign-in makes an account with the provider's claims")
    func newUser() async throws {
        try await Self.withProvider(trustsEmail: true) { auth, provider in
            let first = try await Self.signIn(auth, at: provider)
            #expect(first.status == 200, "\(first.text)")
            #expect(first.json["created"].bool == true, "\(first.text)")
            let me = try await auth.me(first.json["jwt"].string).json
            #expect(me["fullName"].string == "Ana Albers")
            #expect(me["email"].string == "ana@example.org")
            #expect(me["emailVerified"].bool == true)
            let second = try await Self.signIn(auth, at: provider)
            #expect(second.json["userId"] == first.json["userId"])
            #expect(second.json["created"].bool == false)
        }
    }

    @Test("Without trustEmail, the provider's address counts as unverified")
    func emailTrust() async throws {
        try await Self.withProvider(trustsEmail: false) { auth, provider in
            let answer = try await Self.signIn(auth, at: provider)
            #expect(try await auth.me(answer.json["jwt"].string).json["emailVerified"].bool == false)
        }
    }

    @Test("A code signs in once")
    func singleUseCode() async throws {
        try await Self.withProvider(trustsEmail: false) { auth, provider in
            let page = FormCoding.url(
                "\(provider.url)/oauth2/authorize",
                adding: [
                    "response_type": "code", "client_id": "roost", "redirect_uri": Self.app, "scope": "openid",
                    "state": "s",
                ]
            )
            let code = try #require(try await Self.agree(page)["code"])
            let fields: [String: JSONValue] = [
                "code": .string(code), "codeVerifier": .string(Self.verifier), "redirectUri": .string(Self.app),
            ]
            #expect(try await auth.post("/auth/identities/corp", json(fields)).status == 200)
            let again = try await auth.post("/auth/identities/corp", json(fields))
            #expect(again.status == 401, "\(again.text)")
            #expect(again.problem?.code == "invalid_code", "\(again.text)")
        }
    }

    private static func withProvider(
        trustsEmail: Bool,
        _ body: @Sendable (Auth, MockProvider) async throws -> Void
    ) async throws {
        try await MockProvider.with(people: [ana]) { provider in
            let corp: JSONValue = .object([
                "issuer": .string(provider.url), "clientId": "roost", "clientSecret": "a secret, any: %&+",
                "trustEmail": .bool(trustsEmail),
            ])
            let settings = ["OPENID_PROVIDERS": json(["corp": corp]), "IDENTITY_REDIRECT_URLS": app]
            try await withAuth(settings: settings) { auth in try await body(auth, provider) }
        }
    }

    /// Signs in as a browser does.
    private static func signIn(_ auth: Auth, at provider: MockProvider) async throws -> TestHTTPResponse {
        let challenge = ProofNonce.challenge(of: verifier)
        let begun = try await auth.post(
            "/auth/identities/corp/authorizations",
            json(["redirectUri": .string(app), "codeChallenge": .string(challenge)])
        )
        let step = try await agree(try #require(begun.json["url"].string, "\(begun.text)"))
        let query = URLComponents(string: step.url)?.percentEncodedQuery ?? ""
        let back = try await auth.service.send(.get, "/auth/identities/corp/callback?\(query)")
        try #require(back.status == 303, "\(back.text)")
        let redirected = IdentityFixture.Step(back.headers[.location] ?? "")
        return try await auth.post(
            "/auth/identities/corp",
            json(["authorization": .string(redirected["authorization"] ?? ""), "codeVerifier": .string(verifier)])
        )
    }

    private static func agree(_ page: String) async throws -> IdentityFixture.Step {
        try await HTTPClient.withoutRedirects { http in
            var request = HTTPClientRequest(url: page)
            request.method = .POST
            request.headers = ["content-type": "application/x-www-form-urlencoded"]
            request.body = .bytes(ByteBuffer(string: "sub=ana-1"))
            let response = try await http.execute(request, timeout: .seconds(20))
            return IdentityFixture.Step(try #require(response.headers.first(name: "location")))
        }
    }
}
