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

/// Forged and invalid tokens, sent directly to the service: each is a 403.
@Suite("Attacks with access tokens") struct TokenAttackTests {
    @Test("Another algorithm or type is refused")
    func otherHeaders() async throws {
        try await withStolenKey { fixture in
            let kid = fixture.kid
            for algorithm in ["none", "None", "NONE", "nOnE", "", "ES384", "RS256", "EdDSA", "es256", "HS256"] {
                let header: [String: JSONValue] = ["alg": .string(algorithm), "kid": .string(kid), "typ": "at+jwt"]
                try await fixture.refuses(try fixture.signed(header: header), "alg \(algorithm)")
                let unsigned = fixture.input(header: header)
                try await fixture.refuses("\(unsigned).", "alg \(algorithm) without signature")
                try await fixture.refuses(unsigned, "alg \(algorithm) without a third part")
            }
            for type in ["JWT", "", "roost-service+jwt", "refresh", "AT+JWT+x"] {
                try await fixture.refuses(
                    try fixture.signed(header: ["alg": "ES256", "kid": .string(kid), "typ": .string(type)]),
                    "typ \(type)"
                )
            }
            try await fixture.refuses(try fixture.signed(header: ["alg": "ES256", "kid": .string(kid)]), "no typ")
        }
    }

    @Test("An HMAC with the public key as its secret is refused")
    func publicKeyAsSecret() async throws {
        try await withStolenKey { fixture in
            let header: [String: JSONValue] = ["alg": "HS256", "kid": .string(fixture.kid), "typ": "at+jwt"]
            let input = fixture.input(header: header)
            let key = fixture.key.publicKey
            let document = try await fixture.auth.service.send(.get, "/.well-known/jwks.json")
            for secret in [
                Data(key.pemRepresentation.utf8), key.derRepresentation, key.x963Representation, key.rawRepresentation,
                document.body, Data(),
            ] {
                let code = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: secret))
                try await fixture.refuses("\(input).\(Base64URL.encode(Data(code)))", "HS256")
            }
        }
    }

    @Test("An unknown or malformed key id, or another key under a known id, is refused")
    func unknownKeys() async throws {
        try await withStolenKey { fixture in
            for kid in [
                "unknown", "", "../../../../dev/null", "/dev/null", "x' UNION SELECT '1';--", "|sleep 10",
                fixture.kid + " ", fixture.kid.uppercased(), String(repeating: "k", count: 5_000),
            ] {
                let header: [String: JSONValue] = ["alg": "ES256", "kid": .string(kid), "typ": "at+jwt"]
                try await fixture.refuses(try fixture.signed(header: header), "kid \(kid.prefix(30))")
            }
            try await fixture.refuses(try fixture.signed(header: ["alg": "ES256", "typ": "at+jwt"]), "no kid")
            try await fixture.refuses(
                try fixture.signed(header: ["alg": "ES256", "typ": "at+jwt", "kid": .integer(1)]),
                "a number as kid"
            )
            try await fixture.refuses(
                try fixture.signed(header: fixture.header, by: P256.Signing.PrivateKey()),
                "another key under our kid"
            )
        }
    }

    @Test("A key or extension in the header is refused")
    func embeddedKeys() async throws {
        try await withStolenKey { fixture in
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
                var header = fixture.header
                header[name] = value
                try await fixture.refuses(try fixture.signed(header: header), "\(name), signed by us")
                try await fixture.refuses(try fixture.signed(header: header, by: own), "\(name), signed by another")
            }
        }
    }

    @Test("A token with an invalid claim is refused")
    func invalidClaims() async throws {
        try await withStolenKey { fixture in
            let now = Int64(Date().timeIntervalSince1970)
            let changes: [(String, JSONValue?)] = [
                ("exp", .integer(now - 1)), ("exp", .integer(-1)), ("exp", nil), ("exp", .string("\(now + 600)")),
                ("exp", .null), ("nbf", .integer(now + 600)), ("iat", .integer(now + 600)), ("iat", nil),
                ("iss", "https://evil.example.org"), ("iss", nil), ("iss", ""), ("aud", "other"), ("aud", nil),
                ("app", "other"), ("app", ""), ("app", nil), ("sub", ""), ("sub", nil), ("sub", .integer(1)),
                ("sid", ""), ("sid", nil),
            ]
            for (name, value) in changes {
                var claims = fixture.claims
                claims[name] = value
                let attack = "\(name) \(value.map { "\($0)" } ?? "missing")"
                try await fixture.refuses(try fixture.signed(claims: claims), attack)
            }
            #expect(try await fixture.auth.me(try fixture.signed(claims: fixture.claims)).status == 200)
        }
    }

    @Test("Refresh tokens and service tokens are no access tokens")
    func otherTokenTypes() async throws {
        try await withStolenKey { fixture in
            try await fixture.refuses(fixture.person.refreshToken, "a refresh token")
            let tokens = try ServiceTokens(secret: TestService.secret, name: "gateway")
            try await fixture.refuses(try tokens.token(for: "auth"), "a service token")
        }
    }

    @Test("Only the raw form of the signature is accepted")
    func signatureMalleability() async throws {
        try await withStolenKey { fixture in
            let input = fixture.input(header: fixture.header)
            let signature = try fixture.key.signature(for: Data(input.utf8))
            for (name, bytes) in [
                ("DER", signature.derRepresentation), ("zeroes", Data(repeating: 0, count: 64)), ("nothing", Data()),
                ("half", signature.rawRepresentation.prefix(32)),
                ("twice", signature.rawRepresentation + signature.rawRepresentation),
            ] {
                try await fixture.refuses("\(input).\(Base64URL.encode(bytes))", name)
            }
        }
    }

    @Test("Only one spelling of a token is accepted")
    func base64Malleability() async throws {
        try await withStolenKey { fixture in
            let jwt = fixture.person.jwt
            let parts = jwt.split(separator: ".").map(String.init)
            #expect(try await fixture.auth.me(jwt).status == 200)

            // 64 bytes leave four unused bits in the last character, so 16 spellings decode to the same bytes.
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
            let last = try #require(parts[2].last.flatMap { alphabet.firstIndex(of: $0) })
            for index in (last / 16 * 16)..<(last / 16 * 16 + 16) where index != last {
                try await fixture.refuses(
                    "\(parts[0]).\(parts[1]).\(parts[2].dropLast())\(alphabet[index])",
                    "stray bits"
                )
            }
            try await fixture.refuses("\(jwt)=", "padding")
            try await fixture.refuses("\(jwt)==", "padding")
            try await fixture.refuses("\(jwt).", "a fourth part")
            try await fixture.refuses("\(parts[0])=.\(parts[1]).\(parts[2])", "padding inside")
            let spaced = "\(parts[2].prefix(40)) \(parts[2].dropFirst(40))"
            try await fixture.refuses("\(parts[0]).\(parts[1]).\(spaced)", "a space")
            let other = parts[1].dropFirst(20).first == "A" ? "B" : "A"
            let changed = "\(parts[1].prefix(20))\(other)\(parts[1].dropFirst(21))"
            try await fixture.refuses("\(parts[0]).\(changed).\(parts[2])", "another payload")
        }
    }

    @Test("All tokens of an ended session are refused")
    func revokedSession() async throws {
        try await withStolenKey { fixture in
            _ = try await fixture.auth.service.send(.post, "/auth/logout", token: fixture.person.jwt)
            try await fixture.refuses(fixture.person.jwt, "the token that logged out")
            try await fixture.refuses(try fixture.signed(claims: fixture.claims), "another of the same session")
        }
    }

    @Test("A token of a deleted key is refused")
    func retiredKey() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            let fixture = try await StolenKey(auth)
            let roost = AuthClient(try auth.service.peerClient("roost", callee: "auth"))
            _ = try await roost.rotateKeys()
            clock.advance(seconds: 4_000)
            try await auth.retention(by: clock).deleteExpired()
            let next = try await roost.rotateKeys()
            #expect(!next.previous.contains(fixture.kid))
            // The verifier reloads the keys at least once a minute.
            try await auth.service.assembled.verifier.load()
            var claims = fixture.claims
            claims["iat"] = .integer(Int64(clock.now.timeIntervalSince1970))
            claims["exp"] = .integer(Int64(clock.now.timeIntervalSince1970) + 600)
            try await fixture.refuses(try fixture.signed(claims: claims), "a forgotten key")
        }
    }

    private func withStolenKey(_ body: @Sendable (StolenKey) async throws -> Void) async throws {
        try await withAuth { auth in try await body(try await StolenKey(auth)) }
    }
}
