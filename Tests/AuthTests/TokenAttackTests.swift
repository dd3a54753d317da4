import AuthAPI
import Credentials
import Crypto
import Foundation
import HTTPTypes
import Logging
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Tokens that are not what they say, sent straight to the service: each is a 403.
@Suite struct TokenAttackTests {
    @Test func tokensWithAnotherHeaderAreRefused() async throws {
        try await withScene { scene in
            let kid = scene.kid
            for algorithm in ["none", "None", "NONE", "nOnE", "", "ES384", "RS256", "EdDSA", "es256", "HS256"] {
                let header: [String: JSONValue] = ["alg": .string(algorithm), "kid": .string(kid), "typ": "at+jwt"]
                try await scene.refuses(try scene.signed(header: header), "alg \(algorithm)")
                let unsigned = scene.input(header: header)
                try await scene.refuses("\(unsigned).", "alg \(algorithm) without signature")
                try await scene.refuses(unsigned, "alg \(algorithm) without a third part")
            }
            for type in ["JWT", "", "roost-service+jwt", "refresh", "AT+JWT+x"] {
                try await scene.refuses(
                    try scene.signed(header: ["alg": "ES256", "kid": .string(kid), "typ": .string(type)]),
                    "typ \(type)"
                )
            }
            try await scene.refuses(try scene.signed(header: ["alg": "ES256", "kid": .string(kid)]), "no typ")
        }
    }

    @Test func aPublicKeyIsNoSecret() async throws {
        try await withScene { scene in
            let header: [String: JSONValue] = ["alg": "HS256", "kid": .string(scene.kid), "typ": "at+jwt"]
            let input = scene.input(header: header)
            let key = scene.key.publicKey
            let document = try await scene.auth.service.send(.get, "/.well-known/jwks.json")
            for secret in [
                Data(key.pemRepresentation.utf8), key.derRepresentation, key.x963Representation, key.rawRepresentation,
                document.body, Data(),
            ] {
                let code = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: secret))
                try await scene.refuses("\(input).\(Base64URL.encode(Data(code)))", "HS256")
            }
        }
    }

    @Test func onlyAKeyOfTheDocumentCounts() async throws {
        try await withScene { scene in
            for kid in [
                "unknown", "", "../../../../dev/null", "/dev/null", "x' UNION SELECT '1';--", "|sleep 10",
                scene.kid + " ", scene.kid.uppercased(), String(repeating: "k", count: 5_000),
            ] {
                let header: [String: JSONValue] = ["alg": "ES256", "kid": .string(kid), "typ": "at+jwt"]
                try await scene.refuses(try scene.signed(header: header), "kid \(kid.prefix(30))")
            }
            try await scene.refuses(try scene.signed(header: ["alg": "ES256", "typ": "at+jwt"]), "no kid")
            try await scene.refuses(
                try scene.signed(header: ["alg": "ES256", "typ": "at+jwt", "kid": .integer(1)]),
                "a number as kid"
            )
            try await scene.refuses(
                try scene.signed(header: scene.header, by: P256.Signing.PrivateKey()),
                "another key under our kid"
            )
        }
    }

    @Test func aTokenBringsNoKeyAndAsksForNoExtension() async throws {
        try await withScene { scene in
            let own = P256.Signing.PrivateKey()
            let x = Base64URL.encode(own.publicKey.rawRepresentation.prefix(32))
            let y = Base64URL.encode(own.publicKey.rawRepresentation.suffix(32))
            let jwk: JSONValue = .object(["kty": "EC", "crv": "P-256", "x": .string(x), "y": .string(y)])
            let fields: [(String, JSONValue)] = [
                ("jwk", jwk), ("jku", "http://127.0.0.1:1/jwks.json"), ("x5u", "http://127.0.0.1:1/"),
                ("x5c", .array(["x"])), ("crit", .array(["exp"])), ("crit", .array([])), ("b64", .bool(false)),
                ("zip", "DEF"),
            ]
            for (name, value) in fields {
                var header = scene.header
                header[name] = value
                try await scene.refuses(try scene.signed(header: header), "\(name), signed by us")
                try await scene.refuses(try scene.signed(header: header, by: own), "\(name), signed by another")
            }
        }
    }

    @Test func claimsAreHeldToTheirMeaning() async throws {
        try await withScene { scene in
            let now = Int64(Date().timeIntervalSince1970)
            let changes: [(String, JSONValue?)] = [
                ("exp", .integer(now - 1)), ("exp", .integer(-1)), ("exp", nil), ("exp", .string("\(now + 600)")),
                ("exp", .null), ("nbf", .integer(now + 600)), ("iat", .integer(now + 600)), ("iat", nil),
                ("iss", "https://evil.example.org"), ("iss", nil), ("iss", ""), ("aud", "other"), ("aud", nil),
                ("app", "other"), ("app", ""), ("app", nil), ("sub", ""), ("sub", nil), ("sub", .integer(1)),
                ("sid", ""), ("sid", nil),
            ]
            for (name, value) in changes {
                var claims = scene.claims
                claims[name] = value
                let attack = "\(name) \(value.map { "\($0)" } ?? "missing")"
                try await scene.refuses(try scene.signed(claims: claims), attack)
            }
            #expect(try await scene.auth.me(try scene.signed(claims: scene.claims)).status == 200)
        }
    }

    @Test func otherTokensAreNoAccessTokens() async throws {
        try await withScene { scene in
            try await scene.refuses(scene.person.refreshToken, "a refresh token")
            let tokens = try ServiceTokens(secret: TestService.secret, name: "gateway")
            try await scene.refuses(try tokens.token(for: "auth"), "a service token")
        }
    }

    @Test func aSignatureHasOneForm() async throws {
        try await withScene { scene in
            let input = scene.input(header: scene.header)
            let signature = try scene.key.signature(for: Data(input.utf8))
            for (name, bytes) in [
                ("DER", signature.derRepresentation), ("zeroes", Data(repeating: 0, count: 64)), ("nothing", Data()),
                ("half", signature.rawRepresentation.prefix(32)),
                ("twice", signature.rawRepresentation + signature.rawRepresentation),
            ] {
                try await scene.refuses("\(input).\(Base64URL.encode(bytes))", name)
            }
        }
    }

    @Test func base64HasOneSpelling() async throws {
        try await withScene { scene in
            let jwt = scene.person.jwt
            let parts = jwt.split(separator: ".").map(String.init)
            #expect(try await scene.auth.me(jwt).status == 200)

            // 64 bytes leave four bits in the last character that mean nothing: all other spellings of the same bytes.
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
            let last = try #require(parts[2].last.flatMap { alphabet.firstIndex(of: $0) })
            for index in (last / 16 * 16)..<(last / 16 * 16 + 16) where index != last {
                try await scene.refuses(
                    "\(parts[0]).\(parts[1]).\(parts[2].dropLast())\(alphabet[index])",
                    "stray bits"
                )
            }
            try await scene.refuses("\(jwt)=", "padding")
            try await scene.refuses("\(jwt)==", "padding")
            try await scene.refuses("\(jwt).", "a fourth part")
            try await scene.refuses("\(parts[0])=.\(parts[1]).\(parts[2])", "padding inside")
            let spaced = "\(parts[2].prefix(40)) \(parts[2].dropFirst(40))"
            try await scene.refuses("\(parts[0]).\(parts[1]).\(spaced)", "a space")
            let other = parts[1].dropFirst(20).first == "A" ? "B" : "A"
            let changed = "\(parts[1].prefix(20))\(other)\(parts[1].dropFirst(21))"
            try await scene.refuses("\(parts[0]).\(changed).\(parts[2])", "another payload")
        }
    }

    @Test func aRevokedSessionsTokenIsRefusedEvenIfNew() async throws {
        try await withScene { scene in
            _ = try await scene.auth.service.send(.post, "/auth/logout", token: scene.person.jwt)
            try await scene.refuses(scene.person.jwt, "the token that logged out")
            try await scene.refuses(try scene.signed(claims: scene.claims), "another of the same session")
        }
    }

    @Test func aRetiredKeySignsNothingNew() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let scene = try await StolenKey(auth)
            let roost = AuthClient(try auth.service.neighbour("roost", callee: "auth"))
            _ = try await roost.rotateKeys()
            clock.advance(seconds: 4_000)
            try await auth.housekeeping(by: clock).tidy()
            let next = try await roost.rotateKeys()
            #expect(!next.previous.contains(scene.kid))
            // The verifier looks again at least once a minute.
            try await auth.service.assembled.verifier.load()
            var claims = scene.claims
            claims["iat"] = .integer(Int64(clock.now.timeIntervalSince1970))
            claims["exp"] = .integer(Int64(clock.now.timeIntervalSince1970) + 600)
            try await scene.refuses(try scene.signed(claims: claims), "a forgotten key")
        }
    }

    private func withScene(_ body: @Sendable (StolenKey) async throws -> Void) async throws {
        try await withAuth { auth in try await body(try await StolenKey(auth)) }
    }
}
