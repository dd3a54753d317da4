import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// Google and Apple as identity providers, and the requests that they reject.
@Suite("OpenID issuers", .timeLimit(.minutes(1))) struct OpenIDIssuerTests {
    private static let callback = "https://roost.example/auth/identities/apple/callback"

    @Test("The discovery document leads to the issuer's public keys")
    func discoveryDocument() async throws {
        try await withSandbox { fixture in
            for name in ["google", "apple"] {
                let issuer = "\(fixture.sandbox.url)/\(name)"
                let document = try await fixture.send(.GET, "\(issuer)/.well-known/openid-configuration").json()
                #expect(document["issuer"]?.text == issuer)
                let keys = try #require(document["jwks_uri"]?.text)
                let key = try await fixture.send(.GET, keys).json()["keys"]?[0]
                #expect(key?["kty"]?.text == "RSA")
                #expect(key?["alg"]?.text == "RS256")
                #expect(key?["d"] == nil)
            }
        }
    }

    @Test(
        "An invalid authorization request is rejected",
        arguments: [
            "client_id=another", "redirect_uri=nowhere", "response_type=token", "scope=profile", "scope=openid%20drive",
            "code_challenge_method=plain&code_challenge=x",
        ]
    )
    func invalidAuthorization(_ change: String) async throws {
        try await withSandbox { fixture in
            let good = "client_id=roost-google&redirect_uri=https%3A%2F%2Fa.example%2Fb&response_type=code&scope=openid"
            let page = "\(fixture.sandbox.url)/google/authorize?"
            let valid = try await fixture.send(.GET, page + good)
            #expect(valid.status == 200)
            // The first value of a repeated parameter counts.
            let refused = try await fixture.send(.GET, "\(page)\(change)&\(good)&as=ana")
            #expect(refused.status == 400)
        }
    }

    @Test("A redirect URI must match a registered one exactly")
    func redirectURIMatching() async throws {
        try await withSandbox { fixture in
            let body = #"{"redirectUris": ["https://a.example/b"]}"#
            let registered = try await fixture.control("/sandbox/identities/google/redirects", body, .PUT)
            #expect(registered.status == 204)
            let page = "\(fixture.sandbox.url)/google/authorize?client_id=roost-google&response_type=code&scope=openid"
            #expect(try await fixture.send(.GET, "\(page)&redirect_uri=https://a.example/b").status == 200)
            #expect(try await fixture.send(.GET, "\(page)&redirect_uri=https://a.example/b/").status == 400)
        }
    }

    @Test("Apple requires form_post for the name, and sends the name once")
    func appleName() async throws {
        try await withSandbox { fixture in
            let page = Self.page(fixture)
            #expect(try await fixture.send(.GET, "\(page)&as=ana").status == 400)
            let first = try await fixture.send(.GET, "\(page)&response_mode=form_post&as=ana").text
            #expect(first.contains("action=\"\(Self.callback)\""))
            #expect(first.contains("name=\"user\""))
            let second = try await fixture.send(.GET, "\(page)&response_mode=form_post&as=ana").text
            #expect(second.contains("name=\"code\""))
            #expect(!second.contains("name=\"user\""))
        }
    }

    @Test("Apple's code is redeemed once, with a valid client secret and redirect URI")
    func appleCode() async throws {
        try await withSandbox { fixture in
            let code = try await Self.code(fixture)
            let secret = try Self.secret(fixture)
            #expect(try await Self.redeem(code, secret: "roost-apple-secret", fixture).status == 400)
            #expect(
                try await Self.redeem(code, secret: Self.secret(fixture, audience: "https://a"), fixture).status == 400
            )
            #expect(try await Self.redeem(code, secret: Self.secret(fixture, days: 200), fixture).status == 400)
            #expect(try await Self.redeem(code, secret: Self.secret(fixture, isForged: true), fixture).status == 400)

            let given = try await Self.redeem(code, secret: secret, fixture)
            #expect(given.status == 200)
            #expect(try given.json()["id_token"]?.text?.split(separator: ".").count == 3)
            let again = try await Self.redeem(code, secret: secret, fixture)
            #expect(again.status == 400)
            #expect(try again.json()["error"]?.text == "invalid_grant")
            let elsewhere = try await Self.redeem(
                Self.code(fixture),
                secret: secret,
                to: "https://evil.example",
                fixture
            )
            #expect(elsewhere.status == 400)
        }
    }

    @Test("A code is invalid after five minutes")
    func codeExpiry() async throws {
        try await withSandbox { fixture in
            let code = try await Self.code(fixture)
            fixture.clock.advance(minutes: 5)
            #expect(try await Self.redeem(code, secret: Self.secret(fixture), fixture).status == 400)
        }
    }

    @Test("A key rotation publishes a key with another ID")
    func keyRotation() async throws {
        try await withSandbox { fixture in
            func keyID() async throws -> String? {
                try await fixture.send(.GET, "\(fixture.sandbox.url)/google/certs").json()["keys"]?[0]?["kid"]?.text
            }
            let first = try await keyID()
            try fixture.sandbox.rotateKey(of: .google)
            #expect(try await keyID() != first)
        }
    }

    private static func page(_ fixture: SandboxFixture) -> String {
        "\(fixture.sandbox.url)/apple/authorize?client_id=roost-apple&response_type=code&scope=openid%20name%20email"
            + "&state=s&redirect_uri=\(callback)"
    }

    private static func code(_ fixture: SandboxFixture) async throws -> String {
        let form = try await fixture.send(.GET, "\(page(fixture))&response_mode=form_post&as=ana").text
        let match = try #require(form.firstMatch(of: /name="code" value="([^"]+)"/))
        return String(match.1)
    }

    private static func redeem(
        _ code: String,
        secret: String,
        to redirect: String = callback,
        _ fixture: SandboxFixture
    ) async throws -> SandboxResponse {
        let form = "grant_type=authorization_code&code=\(code)&client_id=roost-apple&client_secret=\(secret)"
        return try await fixture.send(
            .POST,
            "\(fixture.sandbox.url)/apple/token",
            headers: ["content-type": "application/x-www-form-urlencoded"],
            body: Data("\(form)&redirect_uri=\(redirect)".utf8)
        )
    }

    private static func secret(
        _ fixture: SandboxFixture,
        audience: String = "https://appleid.apple.com",
        days: Int = 1,
        isForged: Bool = false
    ) throws -> String {
        let apple = fixture.credentials.apns
        let now = fixture.clock.seconds
        let header: JSONValue = .object(["alg": .string("ES256"), "kid": .string(apple.keyId)])
        let claims: JSONValue = .object([
            "iss": .string(apple.teamId), "sub": .string("roost-apple"), "aud": .string(audience),
            "iat": .integer(Int64(now)), "exp": .integer(Int64(now + days * 86_400)),
        ])
        let key = try isForged ? P256.Signing.PrivateKey() : .init(pemRepresentation: apple.key)
        let input = "\(Base64URL.encode(try header.compact())).\(Base64URL.encode(try claims.compact()))"
        return "\(input).\(Base64URL.encode(try key.signature(for: Data(input.utf8)).rawRepresentation))"
    }
}
