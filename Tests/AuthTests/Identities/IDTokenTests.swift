import Crypto
import CryptoExtras
import Foundation
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Invalid ID tokens: each is refused with a specific error.
@Suite("ID tokens") struct IDTokenTests {
    @Test("A token with a supported algorithm is read", arguments: ["RS256", "ES256", "EdDSA"])
    func algorithms(_ algorithm: String) throws {
        let signer = try ProviderSigner()
        let claims = try signer.read(try signer.token(algorithm))
        #expect(claims.subject == "248289761001")
        #expect(claims.client == ProviderSigner.client)
        #expect(claims.email == "ana@example.org")
        #expect(claims.isEmailVerified)
        #expect(claims.name == "Ana Albers")
    }

    @Test("A token with an invalid claim is refused")
    func invalidClaims() throws {
        let signer = try ProviderSigner()
        let wrong: [(String, JSONValue?, APIError)] = [
            ("iss", "https://id.example.org/", ProofError.issuer), ("iss", nil, ProofError.issuer),
            ("iss", "https://evil.example", ProofError.issuer), ("iss", .array([]), ProofError.issuer),
            ("aud", "another-app", ProofError.audience), ("aud", nil, ProofError.audience),
            ("aud", .array([]), ProofError.audience), ("aud", .integer(1), ProofError.audience),
            ("aud", .array([.string(ProviderSigner.client), "another-app"]), ProofError.audience),
            ("azp", "another-app", ProofError.audience), ("azp", .integer(1), ProofError.audience),
            ("exp", .integer(1_795_000_000), ProofError.expired), ("exp", nil, ProofError.claims),
            ("exp", "1795003600", ProofError.claims), ("exp", .integer(-1), ProofError.claims),
            ("exp", .integer(.max), ProofError.claims), ("exp", .bool(true), ProofError.claims),
            ("iat", .integer(1_795_000_061), ProofError.early), ("iat", nil, ProofError.claims),
            ("nbf", .integer(1_795_000_061), ProofError.early), ("nbf", "now", ProofError.claims),
            ("sub", nil, ProofError.claims), ("sub", "", ProofError.claims),
            ("sub", .integer(7), ProofError.claims),
            ("sub", .string(String(repeating: "7", count: 256)), ProofError.claims),
        ]
        for (name, value, refusal) in wrong {
            var claims = ProviderSigner.claims
            claims[name] = value
            #expect(throws: refusal, "\(name): \(value.map { "\($0)" } ?? "missing")") {
                try signer.read(try signer.token(claims: claims))
            }
        }
    }

    @Test("A token for any of the registered clients is accepted")
    func audiences() throws {
        let signer = try ProviderSigner()
        var claims = ProviderSigner.claims
        claims["aud"] = .array(["roost-ios"])
        #expect(try signer.read(try signer.token(claims: claims)).client == "roost-ios")
        claims["aud"] = .array(["another-app", "roost-web"])
        claims["azp"] = "roost-ios"
        #expect(try signer.read(try signer.token(claims: claims)).client == "roost-web")
    }

    @Test("Times may be fractions, and clocks may differ by a minute")
    func times() throws {
        let signer = try ProviderSigner()
        var claims = ProviderSigner.claims
        claims["iat"] = .number(1_795_000_059.5)
        claims["exp"] = .number(1_795_000_000.5)
        #expect(try signer.read(try signer.token(claims: claims)).subject == "248289761001")
    }

    @Test("Apple's email_verified may be a string")
    func appleEmailVerified() throws {
        let signer = try ProviderSigner()
        for (value, isVerified) in [
            ("true" as JSONValue, true), ("false", false), (.integer(1), false), (.null, false),
        ] {
            var claims = ProviderSigner.claims
            claims["email_verified"] = value
            #expect(try signer.read(try signer.token(claims: claims)).isEmailVerified == isVerified)
        }
    }

    @Test("An unsupported algorithm and a missing signature are refused")
    func otherAlgorithms() throws {
        let signer = try ProviderSigner()
        for algorithm in ["none", "None", "nOnE", "", "HS256", "RS384", "RS512", "PS256", "ES384", "rs256"] {
            #expect(throws: ProofError.malformed, "\(algorithm)") { try signer.read(try signer.token(algorithm)) }
            let header: [String: JSONValue] = ["alg": .string(algorithm), "kid": "rsa"]
            let input = ProviderSigner.input(header, .object(ProviderSigner.claims))
            for unsigned in ["\(input).", input, "\(input).."] {
                #expect(throws: ProofError.malformed) { try signer.read(unsigned) }
            }
        }
    }

    @Test("An HMAC with the public key as its secret is refused")
    func publicKeyAsSecret() throws {
        let signer = try ProviderSigner()
        let input = ProviderSigner.input(["alg": "HS256", "kid": "rsa"], .object(ProviderSigner.claims))
        for secret in [signer.rsa.publicKey.derRepresentation, Data(signer.rsa.publicKey.pemRepresentation.utf8)] {
            let code = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: secret))
            #expect(throws: ProofError.malformed) { try signer.read("\(input).\(Base64URL.encode(Data(code)))") }
        }
    }

    @Test("A key verifies only its own algorithm")
    func keyAlgorithm() throws {
        let signer = try ProviderSigner()
        for (algorithm, kid) in [("ES256", "rsa"), ("RS256", "p256"), ("EdDSA", "p256"), ("ES256", "ed25519")] {
            #expect(throws: ProofError.unknownKey, "\(algorithm) by \(kid)") {
                try signer.read(try signer.token(algorithm, header: ["kid": .string(kid)]))
            }
        }
        let other = try ProviderSigner()
        #expect(throws: ProofError.signature) { try signer.read(try other.token("ES256")) }
        #expect(throws: ProofError.signature) { try signer.read(try other.token("EdDSA")) }
        let input = ProviderSigner.input(["alg": "RS256", "kid": "rsa"], .object(ProviderSigner.claims))
        let padded = Base64URL.encode(try signer.signature(of: input, "PS256"))
        #expect(throws: ProofError.signature) { try signer.read("\(input).\(padded)") }
    }

    @Test("Keys and types in the header are refused, and so is an unknown key id")
    func embeddedKeys() throws {
        let signer = try ProviderSigner()
        let fields: [(String, JSONValue)] = [
            ("jwk", .object(["kty": "RSA"])), ("jku", "http://127.0.0.1:1/keys"), ("x5u", "http://127.0.0.1:1/"),
            ("x5c", .array(["x"])), ("crit", .array(["exp"])), ("crit", .array([])), ("b64", .bool(false)),
            ("zip", "DEF"), ("enc", "A256GCM"),
        ]
        for (name, value) in fields {
            #expect(throws: ProofError.malformed, "\(name)") {
                try signer.read(try signer.token(header: [name: value]))
            }
        }
        for type in ["at+jwt", "", "logout+jwt", "dpop+jwt"] {
            #expect(throws: ProofError.malformed, "typ \(type)") {
                try signer.read(try signer.token(header: ["typ": .string(type)]))
            }
        }
        for kid in ["", "unknown", "../../dev/null", "x' UNION SELECT '1';--", "RSA"] {
            #expect(throws: ProofError.unknownKey, "kid \(kid)") {
                try signer.read(try signer.token(header: ["kid": .string(kid)]))
            }
        }
    }

    @Test("Only the raw form of the signature is accepted")
    func signatureMalleability() throws {
        let signer = try ProviderSigner()
        let input = ProviderSigner.input(["alg": "ES256", "kid": "p256"], .object(ProviderSigner.claims))
        let signature = try signer.p256.signature(for: Data(input.utf8))
        for (name, bytes) in [
            ("DER", signature.derRepresentation), ("zeroes", Data(repeating: 0, count: 64)),
            ("half", signature.rawRepresentation.prefix(32)), ("ones", Data(repeating: 0xFF, count: 64)),
            ("twice", signature.rawRepresentation + signature.rawRepresentation),
        ] {
            #expect(throws: ProofError.signature, "\(name)") {
                try signer.read("\(input).\(Base64URL.encode(bytes))")
            }
        }
        let token = try signer.token()
        #expect(throws: ProofError.malformed) { try signer.read("\(token)=") }
        #expect(throws: ProofError.malformed) { try signer.read("\(token).x") }
        #expect(throws: ProofError.malformed) { try signer.read(" \(token)") }
        #expect(throws: ProofError.malformed) { try signer.read(String(repeating: "x", count: 20_000)) }
    }

    @Test("A token without a key id is verified if only one key fits")
    func missingKeyID() throws {
        let signer = try ProviderSigner()
        let header: [String: JSONValue] = ["alg": "ES256"]
        let input = ProviderSigner.input(header, .object(ProviderSigner.claims))
        let token = "\(input).\(Base64URL.encode(try signer.signature(of: input, "ES256")))"
        #expect(try signer.read(token).subject == "248289761001")

        let document = try signer.document()
        let twice: JSONValue = .object(["keys": .array(document["keys"].array + document["keys"].array)])
        #expect(throws: ProofError.unknownKey) { try signer.read(token, keys: twice) }
    }

    @Test("A key set without a usable key is refused")
    func unusableKeys() throws {
        let signer = try ProviderSigner()
        let weak = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1_024)).publicKey.getKeyPrimitives()
        let rsa = try signer.document()["keys"][0]
        let useless: [JSONValue] = [
            .object([
                "kty": "RSA", "kid": "rsa", "n": .string(Base64URL.encode(weak.modulus)),
                "e": .string(Base64URL.encode(weak.publicExponent)),
            ]),
            rsa.changing("use", to: "enc"), rsa.changing("alg", to: "RS512"), rsa.changing("kty", to: "oct"),
            rsa.changing("n", to: "AQAB"), rsa.changing("e", to: "AQ"), rsa.changing("e", to: "AAAB"),
            rsa.changing("e", to: "AQAC"), rsa.changing("key_ops", to: .array(["encrypt"])),
            rsa.changing("key_ops", to: "verify"), .null, .object([:]),
            .object(["kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB"]),
        ]
        for key in useless {
            #expect(throws: ProviderError.self, "\(key)") { try ProviderKeySet(.object(["keys": .array([key])])) }
        }
        let verifying = rsa.changing("key_ops", to: .array(["verify"]))
        #expect(try signer.read(signer.token(), keys: .object(["keys": .array([verifying])])).subject == "248289761001")
    }
}

extension JSONValue {
    fileprivate func changing(_ name: String, to value: JSONValue) -> JSONValue {
        guard case .object(var fields) = self else { return self }
        fields[name] = value
        return .object(fields)
    }
}
