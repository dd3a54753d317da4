import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// Google and Apple as providers of identities: whom they refuse, and how.
@Suite(.timeLimit(.minutes(1))) struct OpenIDIssuerTests {
    private static let callback = "https://roost.example/auth/identities/apple/callback"

    @Test func aDocumentSaysWhereThingsAre() async throws {
        try await withSandbox { scene in
            for name in ["google", "apple"] {
                let issuer = "\(scene.sandbox.url)/\(name)"
                let document = try await scene.ask(.GET, "\(issuer)/.well-known/openid-configuration").json()
                #expect(document["issuer"]?.text == issuer)
                let keys = try #require(document["jwks_uri"]?.text)
                let key = try await scene.ask(.GET, keys).json()["keys"]?[0]
                #expect(key?["kty"]?.text == "RSA" && key?["alg"]?.text == "RS256" && key?["d"] == nil)
            }
        }
    }

    @Test(arguments: [
        "client_id=another", "redirect_uri=nowhere", "response_type=token", "scope=profile", "scope=openid%20drive",
        "code_challenge_method=plain&code_challenge=x",
    ])
    func googleAsksNobodyForWhoIsWrong(_ change: String) async throws {
        try await withSandbox { scene in
            let good = "client_id=roost-google&redirect_uri=https%3A%2F%2Fa.example%2Fb&response_type=code&scope=openid"
            let page = "\(scene.sandbox.url)/google/authorize?"
            let asked = try await scene.ask(.GET, page + good)
            #expect(asked.status == 200)
            // The first of a name counts.
            let refused = try await scene.ask(.GET, "\(page)\(change)&\(good)&as=ana")
            #expect(refused.status == 400)
        }
    }

    @Test func whatIsRegisteredIsComparedWhole() async throws {
        try await withSandbox { scene in
            let body = #"{"redirectUris": ["https://a.example/b"]}"#
            let told = try await scene.tell("/sandbox/identities/google/redirects", body, .PUT)
            #expect(told.status == 204)
            let page = "\(scene.sandbox.url)/google/authorize?client_id=roost-google&response_type=code&scope=openid"
            #expect(try await scene.ask(.GET, "\(page)&redirect_uri=https://a.example/b").status == 200)
            #expect(try await scene.ask(.GET, "\(page)&redirect_uri=https://a.example/b/").status == 400)
        }
    }

    @Test func appleTellsNamesByAFormAndOnce() async throws {
        try await withSandbox { scene in
            let page = Self.page(scene)
            #expect(try await scene.ask(.GET, "\(page)&as=ana").status == 400)
            let first = try await scene.ask(.GET, "\(page)&response_mode=form_post&as=ana").text
            #expect(first.contains("action=\"\(Self.callback)\"") && first.contains("name=\"user\""))
            let second = try await scene.ask(.GET, "\(page)&response_mode=form_post&as=ana").text
            #expect(second.contains("name=\"code\"") && !second.contains("name=\"user\""))
        }
    }

    @Test func applesCodeIsGoodOnceForWhoItKnows() async throws {
        try await withSandbox { scene in
            let code = try await Self.code(scene)
            let secret = try Self.secret(scene)
            #expect(try await Self.redeem(code, secret: "roost-apple-secret", scene).status == 400)
            #expect(try await Self.redeem(code, secret: Self.secret(scene, audience: "https://a"), scene).status == 400)
            #expect(try await Self.redeem(code, secret: Self.secret(scene, days: 200), scene).status == 400)
            #expect(try await Self.redeem(code, secret: Self.secret(scene, isForged: true), scene).status == 400)

            let given = try await Self.redeem(code, secret: secret, scene)
            #expect(given.status == 200)
            #expect(try given.json()["id_token"]?.text?.split(separator: ".").count == 3)
            let again = try await Self.redeem(code, secret: secret, scene)
            #expect(try again.status == 400 && again.json()["error"]?.text == "invalid_grant")
            let elsewhere = try await Self.redeem(Self.code(scene), secret: secret, to: "https://evil.example", scene)
            #expect(elsewhere.status == 400)
        }
    }

    @Test func aCodeEnds() async throws {
        try await withSandbox { scene in
            let code = try await Self.code(scene)
            scene.clock.advance(minutes: 5)
            #expect(try await Self.redeem(code, secret: Self.secret(scene), scene).status == 400)
        }
    }

    @Test func anotherKeySignsWhenToldTo() async throws {
        try await withSandbox { scene in
            func keyID() async throws -> String? {
                try await scene.ask(.GET, "\(scene.sandbox.url)/google/certs").json()["keys"]?[0]?["kid"]?.text
            }
            let first = try await keyID()
            try scene.sandbox.rotateKey(of: .google)
            #expect(try await keyID() != first)
        }
    }

    private static func page(_ scene: SandboxScene) -> String {
        "\(scene.sandbox.url)/apple/authorize?client_id=roost-apple&response_type=code&scope=openid%20name%20email"
            + "&state=s&redirect_uri=\(callback)"
    }

    private static func code(_ scene: SandboxScene) async throws -> String {
        let form = try await scene.ask(.GET, "\(page(scene))&response_mode=form_post&as=ana").text
        let match = try #require(form.firstMatch(of: /name="code" value="([^"]+)"/))
        return String(match.1)
    }

    private static func redeem(
        _ code: String,
        secret: String,
        to redirect: String = callback,
        _ scene: SandboxScene
    ) async throws -> Reply {
        let form = "grant_type=authorization_code&code=\(code)&client_id=roost-apple&client_secret=\(secret)"
        return try await scene.ask(
            .POST,
            "\(scene.sandbox.url)/apple/token",
            headers: ["content-type": "application/x-www-form-urlencoded"],
            body: Data("\(form)&redirect_uri=\(redirect)".utf8)
        )
    }

    private static func secret(
        _ scene: SandboxScene,
        audience: String = "https://appleid.apple.com",
        days: Int = 1,
        isForged: Bool = false
    ) throws -> String {
        let apple = scene.credentials.apns
        let now = scene.clock.seconds
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
