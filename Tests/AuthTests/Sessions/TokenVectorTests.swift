import Crypto
import Foundation
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Tokens like Wycheproof's vectors for JWS and for ECDSA over P-256, one of each kind, made here.
@Suite("Token vectors") struct TokenVectorTests {
    /// The order of P-256's group, as 32 bytes.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    @Test("A signature out of range, of another length or of another token is refused")
    func signatureRange() async throws {
        try await withStolenKey { key in
            let input = key.input(header: key.header)
            let good = [UInt8](try key.key.signature(for: Data(input.utf8)).rawRepresentation)
            let (r, s) = (Array(good.prefix(32)), Array(good.suffix(32)))
            let zero = [UInt8](repeating: 0, count: 32)
            let (one, more) = ([UInt8](repeating: 0, count: 31) + [1], [UInt8](repeating: 0xFF, count: 32))
            var (otherR, otherS) = (r, s)
            otherR[0] ^= 1
            otherS[31] ^= 1
            let vectors: [(String, [[UInt8]])] = [
                ("r and s 0", [zero, zero]), ("r 0", [zero, s]), ("s 0", [r, zero]), ("r n", [Self.order, s]),
                ("s n", [r, Self.order]), ("r and s n", [Self.order, Self.order]), ("r and s 1", [one, one]),
                ("r above the field", [more, s]), ("s above the order", [r, more]), ("swapped", [s, r]),
                ("r changed", [otherR, s]), ("s changed", [r, otherS]), ("a zero before", [[0], good]),
                ("a zero behind", [good, [0]]), ("zeroes before each", [[0], r, [0], s]),
                ("a byte less", [r, Array(s.dropLast())]), ("96 bytes", [good, r]), ("r alone", [r]),
                ("DER's head", [[0x30, 0x44, 0x02, 0x20], r, [0x02, 0x20], s]),
            ]
            for (name, parts) in vectors {
                let bytes = parts.flatMap { $0 }
                try await key.refuses("\(input).\(Base64URL.encode(bytes))", name)
            }
            let other = key.input(header: key.header, claims: ["sub": "bea"])
            try await key.refuses("\(other).\(Base64URL.encode(good))", "another token's")
        }
    }

    @Test("A malformed or ambiguous header is refused")
    func malformedHeader() async throws {
        try await withStolenKey { key in
            let kid = key.kid
            let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
            let headers: [String] = [
                "[]", "null", "\"ES256\"", "{}", "", " ", "{", "ES256",
                #"{"alg":null,"kid":"\#(kid)","typ":"at+jwt"}"#, #"{"alg":["ES256"],"kid":"\#(kid)","typ":"at+jwt"}"#,
                #"{"alg":{"a":1},"kid":"\#(kid)","typ":"at+jwt"}"#, #"{"alg":"ES256","kid":null,"typ":"at+jwt"}"#,
                #"{"alg":"ES256","kid":["\#(kid)"],"typ":"at+jwt"}"#, #"{"alg":"ES256","kid":"\#(kid)","typ":7}"#,
                #"{"ALG":"ES256","kid":"\#(kid)","typ":"at+jwt"}"#, #"{"alg":"ES256 ","kid":"\#(kid)","typ":"at+jwt"}"#,
                #"{"alg":"none","alg":"ES256","kid":"\#(kid)","typ":"at+jwt"}"#,
                #"{"alg":"ES256","alg":"none","kid":"\#(kid)","typ":"at+jwt"}"#,
                #"{"alg":"ES256","kid":"other","kid":"\#(kid)","typ":"at+jwt"}"#,
                #"{"alg":"ES256","kid":"\#(kid)\u0000","typ":"at+jwt"}"#,
                #"{"alg":"ES256","kid":"\#(kid)","typ":"at+jwt","x":\#(deep)}"#,
                #"{"alg":"ES256","kid":"\#(kid)","typ":"at+jwt","pad":"\#(String(repeating: "x", count: 1_100))"}"#,
                #"{"alg":"ES256","kid":"\#(kid)","typ":"at+jwt","crit":["b64"],"b64":false}"#,
                #"{"alg":"ES256","kid":"\#(kid)","typ":"at+jwt","jwk":{"kty":"oct","k":""}}"#,
            ]
            for header in headers { try await key.refuses(try key.signed(text: header), header) }
            #expect(try await key.auth.me(try key.signed(text: json(key.header))).status == 200)
        }
    }

    @Test("A token in another serialization is refused")
    func malformedToken() async throws {
        try await withStolenKey { key in
            let parts = key.person.jwt.split(separator: ".").map(String.init)
            let flattened = #"{"protected":"\#(parts[0])","payload":"\#(parts[1])","signature":"\#(parts[2])"}"#
            let general =
                #"{"payload":"\#(parts[1])","signatures":[{"protected":"\#(parts[0])","signature":"\#(parts[2])"}]}"#
            let tokens = [
                flattened, general, "\(parts[0])..\(parts[2])", ".\(parts[1]).\(parts[2])", "\(parts[0]).\(parts[1]).",
                "\(parts[1]).\(parts[0]).\(parts[2])", "..", ".", "\(parts[0]).AAAA.AAAA.AAAA.\(parts[2])",
                "\(parts[0]),\(parts[1]),\(parts[2])", "\(key.person.jwt)\(key.person.jwt)",
                "\(parts[0]).\(parts[1]).\(parts[2].lowercased())", String(repeating: "A", count: 60_000),
                parts.map { $0.replacing("-", with: "+").replacing("_", with: "/") + "=" }.joined(separator: "."),
            ]
            for token in tokens { try await key.refuses(token, String(token.prefix(60))) }
        }
    }

    @Test("Claims of another type or shape are refused")
    func malformedClaims() async throws {
        try await withStolenKey { key in
            let now = Int64(Date().timeIntervalSince1970)
            let changes: [(String, JSONValue)] = [
                ("exp", .number(Double(now) + 600.5)), ("exp", .bool(true)), ("exp", .array([.integer(now + 600)])),
                ("exp", .object([:])), ("exp", .number(1e300)), ("iat", .string("\(now)")), ("iat", .bool(false)),
                ("nbf", .string("\(now)")), ("nbf", .number(1e300)), ("aud", .array([.string("roost"), .string("x")])),
                ("aud", .object([:])), ("aud", .bool(true)), ("iss", .array([])), ("iss", .integer(1)),
                ("sub", .array([.string(key.person.userId)])), ("sub", .object([:])), ("sid", .array([])),
                ("sid", .integer(1)), ("app", .array([.string("roost")])), ("scope", .array([.string("admin")])),
            ]
            for (name, value) in changes {
                var claims = key.claims
                claims[name] = value
                try await key.refuses(try key.signed(claims: claims), "\(name): \(value)")
            }
            for payload in ["[]", "null", "1", "\"x\"", "{", ""] {
                let input = "\(Base64URL.encode(Data(json(key.header).utf8))).\(Base64URL.encode(Data(payload.utf8)))"
                let signature = try key.key.signature(for: Data(input.utf8)).rawRepresentation
                try await key.refuses("\(input).\(Base64URL.encode(signature))", "the payload \(payload)")
            }
        }
    }

    /// A token of another kind is no access token, whether auth or a provider signed it.
    @Test("Tokens of other types and of other signers are no access tokens")
    func otherTokenTypes() async throws {
        try await withStolenKey { key in
            var claims = key.claims
            claims["nonce"] = "n"
            for type in ["JWT", "id_token", "logout+jwt", "application/at+jwt+x", "at+jwt "] {
                let header = key.header.merging(["typ": .string(type)]) { $1 }
                try await key.refuses(try key.signed(header: header, claims: claims), "typ \(type)")
            }
            let signer = try ProviderSigner()
            for algorithm in ["RS256", "ES256", "EdDSA"] {
                try await key.refuses(try signer.token(algorithm), "a provider's ID token")
                let header = key.header.merging(["alg": .string(algorithm)]) { $1 }
                try await key.refuses(try signer.token(algorithm, header: header, claims: key.claims), "under our kid")
            }
        }
    }

    private func withStolenKey(_ body: @Sendable (StolenKey) async throws -> Void) async throws {
        try await withAuth { auth in try await body(try await StolenKey(auth)) }
    }
}

extension StolenKey {
    /// A token with this text as its header.
    fileprivate func signed(text header: String) throws -> String {
        let input = "\(Base64URL.encode(Data(header.utf8))).\(Base64URL.encode(Data(json(claims).utf8)))"
        return "\(input).\(Base64URL.encode(try key.signature(for: Data(input.utf8)).rawRepresentation))"
    }
}
