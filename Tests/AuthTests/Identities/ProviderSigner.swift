import Crypto
import CryptoExtras
import Foundation
import TestSupport
import Wire

@testable import AuthServer

/// Signs valid and invalid ID tokens like a provider.
struct ProviderSigner: Sendable {
    static let issuer = "https://id.example.org"
    static let client = "roost-web"
    static let now = Date(timeIntervalSince1970: 1_795_000_000)
    /// Made once, because generating it is slow.
    private static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    let rsa: _RSA.Signing.PrivateKey
    let p256 = P256.Signing.PrivateKey()
    let ed25519 = Curve25519.Signing.PrivateKey()

    init() throws { rsa = try Self.rsa.get() }

    var rules: IDToken.Rules { IDToken.Rules(issuers: [Self.issuer], clients: [Self.client, "roost-ios"]) }

    static var claims: [String: JSONValue] {
        [
            "iss": .string(issuer), "aud": .string(client), "sub": "248289761001",
            "iat": .integer(1_795_000_000), "exp": .integer(1_795_003_600), "email": "ana@example.org",
            "email_verified": .bool(true), "name": "Ana Albers",
        ]
    }

    /// One key of each kind, with the ids `rsa`, `p256` and `ed25519`.
    func document() throws -> JSONValue {
        let numbers = try rsa.publicKey.getKeyPrimitives()
        let point = p256.publicKey.rawRepresentation
        return .object([
            "keys": .array([
                .object([
                    "kty": "RSA", "kid": "rsa", "use": "sig", "alg": "RS256",
                    "n": .string(Base64URL.encode(numbers.modulus)),
                    "e": .string(Base64URL.encode(numbers.publicExponent)),
                ]),
                .object([
                    "kty": "EC", "kid": "p256", "crv": "P-256", "x": .string(Base64URL.encode(point.prefix(32))),
                    "y": .string(Base64URL.encode(point.suffix(32))),
                ]),
                .object([
                    "kty": "OKP", "kid": "ed25519", "crv": "Ed25519",
                    "x": .string(Base64URL.encode(ed25519.publicKey.rawRepresentation)),
                ]),
            ])
        ])
    }

    /// A token signed with the key for its algorithm.
    func token(
        _ algorithm: String = "RS256",
        header: [String: JSONValue] = [:],
        claims: [String: JSONValue] = ProviderSigner.claims
    ) throws -> String {
        let kid = ["RS256": "rsa", "ES256": "p256", "EdDSA": "ed25519"][algorithm] ?? "rsa"
        let header = ["alg": .string(algorithm), "kid": .string(kid), "typ": "JWT"].merging(header) { $1 }
        let input = Self.input(header, .object(claims))
        return "\(input).\(Base64URL.encode(try signature(of: input, algorithm)))"
    }

    func signature(of input: String, _ algorithm: String) throws -> Data {
        let bytes = Data(input.utf8)
        switch algorithm {
        case "ES256": return try p256.signature(for: bytes).rawRepresentation
        case "EdDSA": return try ed25519.signature(for: bytes)
        case "PS256": return try rsa.signature(for: SHA256.hash(data: bytes), padding: .PSS).rawRepresentation
        default: return try rsa.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }

    static func input(_ header: [String: JSONValue], _ claims: JSONValue) -> String {
        "\(Base64URL.encode(Data(json(header).utf8))).\(Base64URL.encode(Data(json(claims).utf8)))"
    }

    /// Verifies a token against the key document.
    func read(_ token: String, keys: JSONValue? = nil, at now: Date = ProviderSigner.now) throws -> IDToken.Claims {
        let token = try IDToken(token)
        guard let key = try ProviderKeySet(keys ?? document()).key(for: token.jws) else {
            throw ProofError.unknownKey
        }
        return try token.claims(signedBy: key, by: rules, now: now)
    }
}
