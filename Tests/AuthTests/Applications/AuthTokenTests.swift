import AuthAPI
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The checks of the tokens that an account server signs.
@Suite("Tokens of account servers") struct AuthTokenTests {
    @Test("A token with an invalid header is refused with a specific code")
    func invalidHeaders() async throws {
        try await withCustomer { acme in
            let other = try await acme.auth.customer("Other", by: acme.admin)
            let changes: [(String, JSONValue?, String)] = [
                ("cty", nil, "wrong_content_type"), ("cty", "JWT", "wrong_content_type"),
                ("cty", "diuit-auth;v=2", "wrong_content_type"), ("cty", "diuit-eit;v=1", "wrong_content_type"),
                ("typ", "at+jwt", "wrong_content_type"), ("kid", nil, "unknown_key"), ("kid", "", "unknown_key"),
                ("kid", "../../../../dev/null", "unknown_key"), ("kid", "x' UNION SELECT '1';--", "unknown_key"),
                ("kid", .string(other.keyID), "unknown_key"),
                ("kid", .string(String(repeating: "a", count: 500)), "unknown_key"),
                ("kid", .integer(1), "malformed_auth_token"), ("crit", .array(["exp"]), "malformed_auth_token"),
                ("jku", "https://evil.example/keys", "malformed_auth_token"),
                ("jwk", .object(["kty": "RSA"]), "malformed_auth_token"), ("alg", "none", "unsupported_algorithm"),
                ("alg", "RS512", "unsupported_algorithm"), ("alg", "PS256", "unsupported_algorithm"),
                ("alg", "rs256", "unsupported_algorithm"), ("alg", nil, "malformed_auth_token"),
            ]
            for (name, value, code) in changes {
                var header = acme.header
                header[name] = value
                let token = try acme.token(acme.claims("ada", nonce: try await acme.nonce()), header: header)
                let answer = try await acme.login(token)
                #expect(answer.status == 401, "\(name) \(String(describing: value))")
                #expect(answer.problem?.code == code, "\(name) \(String(describing: value))")
            }
            for typ: JSONValue? in [nil, "jwt"] {
                var header = acme.header
                header["typ"] = typ
                let token = try acme.token(acme.claims("ada", nonce: try await acme.nonce()), header: header)
                #expect(try await acme.login(token).status == 200)
            }
        }
    }

    @Test("A token without a valid RS256 signature of the application's key is refused")
    func signatures() async throws {
        try await withCustomer { acme in
            let other = try await acme.auth.customer("Other", by: acme.admin)
            let claims = acme.claims("ada", nonce: try await acme.nonce())
            func input(_ algorithm: String) throws -> String {
                var header = acme.header
                header["alg"] = .string(algorithm)
                return try acme.input(header, claims)
            }
            func hs256(_ secret: Data) throws -> String {
                let input = try input("HS256")
                let code = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: secret))
                return "\(input).\(Base64URL.encode(Data(code)))"
            }
            let es256 = try input("ES256")
            let point = try P256.Signing.PrivateKey().signature(for: Data(es256.utf8)).rawRepresentation
            let rs256 = try input("RS256")
            let pss = try acme.key.signature(for: SHA256.hash(data: Data(rs256.utf8)), padding: .PSS).rawRepresentation
            let good = try acme.token(claims)
            let parts = good.split(separator: ".").map(String.init)
            let changed = try acme.input(acme.header, claims.merging(["sub": "bo"]) { $1 })
            let attacks: [(String, String)] = [
                ("none", "\(try input("none"))."), ("None", "\(try input("None")).AA"),
                ("HS256 by the PEM", try hs256(Data(acme.key.publicKey.pemRepresentation.utf8))),
                ("HS256 by the DER", try hs256(acme.key.publicKey.derRepresentation)),
                ("HS256 by the application key", try hs256(Data(acme.applicationKey.utf8))),
                ("ES256", "\(es256).\(Base64URL.encode(point))"), ("PSS", "\(rs256).\(Base64URL.encode(pss))"),
                ("another's key", try acme.token(claims, signedBy: other.key)),
                ("another's claims", "\(changed).\(parts[2])"),
                ("nothing", "\(rs256)."), ("zeroes", "\(rs256).\(Base64URL.encode(Data(repeating: 0, count: 256)))"),
                ("half", "\(rs256).\(parts[2].prefix(170))"), ("padded", "\(good)=="), ("two parts", rs256),
                ("more parts", "\(good).x"), ("no token", "rubbish"), ("dots", "..."), ("space", " \(good)"),
            ]
            for (name, token) in attacks {
                let answer = try await acme.login(token)
                #expect(answer.status == 401, "\(name): \(answer.text)")
            }
            #expect(try await acme.login(good).status == 200)
        }
    }

    @Test("A token with invalid claims is refused with a specific code")
    func invalidClaims() async throws {
        try await withCustomer { acme in
            let other = try await acme.auth.customer("Other", by: acme.admin)
            let now = Date().timeIntervalSince1970
            func text(_ offset: Double) -> JSONValue {
                .string(Timestamp.string(from: Date(timeIntervalSince1970: now + offset)))
            }
            let changes: [(String, JSONValue?, String)] = [
                ("iss", nil, "wrong_issuer"), ("iss", "", "wrong_issuer"), ("iss", .string(other.id), "wrong_issuer"),
                ("iss", .integer(1), "wrong_issuer"), ("sub", nil, "malformed_claims"), ("sub", "", "malformed_claims"),
                ("sub", .integer(1), "malformed_claims"),
                ("sub", .string(String(repeating: "x", count: 256)), "malformed_claims"),
                ("sub", "a\u{0}b", "malformed_auth_token"), ("nonce", nil, "malformed_claims"),
                ("nonce", .integer(1), "malformed_claims"), ("exp", nil, "malformed_claims"),
                ("exp", "soon", "malformed_claims"), ("exp", .null, "malformed_claims"),
                ("exp", .bool(true), "malformed_claims"), ("exp", .string("\(Int(now) + 600)"), "malformed_claims"),
                ("exp", .integer(-1), "malformed_claims"), ("exp", .number(now * 1_000), "malformed_claims"),
                ("exp", .number(1e300), "malformed_claims"), ("exp", text(-1), "auth_token_expired"),
                ("exp", .number(now - 1), "auth_token_expired"), ("exp", .integer(0), "auth_token_expired"),
                ("iat", nil, "malformed_claims"), ("iat", "today", "malformed_claims"),
                ("iat", text(90), "auth_token_not_yet_valid"), ("iat", .number(now + 90), "auth_token_not_yet_valid"),
                ("iat", text(7_200), "auth_token_expired"), ("nbf", text(90), "auth_token_not_yet_valid"),
            ]
            for (name, value, code) in changes {
                var claims = acme.claims("ada", nonce: try await acme.nonce())
                claims[name] = value
                let answer = try await acme.login(try acme.token(claims))
                #expect(answer.status == 401, "\(name) \(String(describing: value))")
                #expect(answer.problem?.code == code, "\(name) \(String(describing: value))")
            }
            let header = try acme.input(acme.header, [:]).split(separator: ".")[0]
            let list = "\(header).\(Base64URL.encode(Data("[]".utf8)))"
            let signature = try acme.key
                .signature(for: SHA256.hash(data: Data(list.utf8)), padding: .insecurePKCS1v1_5)
            let answer = try await acme.login("\(list).\(Base64URL.encode(signature.rawRepresentation))")
            #expect(answer.status == 401)
            #expect(answer.problem?.code == "malformed_claims")
        }
    }

    @Test("Times are ISO 8601 in every common form, or seconds since 1970")
    func timeFormats() async throws {
        try await withCustomer { acme in
            let begin = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
            let end = begin.addingTimeInterval(3_600)
            func written(_ date: Date) -> [JSONValue] {
                let utc = String(Timestamp.string(from: date).dropLast(5))
                let east = String(Timestamp.string(from: date.addingTimeInterval(8 * 3_600)).dropLast(5))
                let seconds = date.timeIntervalSince1970
                let basic = utc.filter { $0 != "-" && $0 != ":" }
                return [
                    .string("\(utc)Z"), .string("\(utc).000Z"), .string("\(utc)+00:00"), .string("\(east)+08:00"),
                    .string("\(east)+0800"), .string("\(east).000000+08"), .string(utc), .string("\(basic)Z"),
                    .string("\(utc.replacingOccurrences(of: "T", with: " "))+00:00"), .integer(Int64(seconds)),
                    .number(seconds + 0.5),
                ]
            }
            for (issued, expires) in zip(written(begin), written(end)) {
                var claims = acme.claims("ada", nonce: try await acme.nonce())
                claims["iat"] = issued
                claims["exp"] = expires
                let answer = try await acme.login(try acme.token(claims))
                #expect(answer.status == 200, "\(issued): \(answer.text)")
                let kept = try await acme.auth.service.database.pool.one(
                    "SELECT expires_at FROM sessions WHERE token_hash IS NOT NULL",
                    as: { try $0.date("expires_at") }
                )
                #expect(abs(kept.timeIntervalSince(end)) <= 0.5, "\(expires)")
            }
        }
    }
}
