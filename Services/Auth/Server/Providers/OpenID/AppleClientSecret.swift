import Crypto
import Foundation
import Wire

/// By what Apple knows us: a token that we sign ourselves, for each request anew (Apple, "Creating a client secret").
struct AppleClientSecret: Sendable {
    /// Who Apple's own tokens are issued by, and these are made out to.
    private static let audience = "https://appleid.apple.com"
    /// Seconds; Apple would take half a year.
    private static let lifetime: Int64 = 300

    let team: String
    let keyID: String
    let key: P256.Signing.PrivateKey

    /// - Throws: a `CryptoKitError` for what is no P-256 key in PEM.
    init(team: String, keyID: String, pem: String) throws {
        self.team = team
        self.keyID = keyID
        key = try P256.Signing.PrivateKey(pemRepresentation: pem)
    }

    func text(for client: String, at now: Date) throws -> String {
        let issued = Int64(now.timeIntervalSince1970)
        let header: JSONValue = .object(["alg": .string("ES256"), "kid": .string(keyID), "typ": .string("JWT")])
        let claims: JSONValue = .object([
            "iss": .string(team), "sub": .string(client), "aud": .string(Self.audience),
            "iat": .integer(issued), "exp": .integer(issued + Self.lifetime),
        ])
        let input = "\(Base64URL.encode(try header.compact())).\(Base64URL.encode(try claims.compact()))"
        let signature = try key.signature(for: Data(input.utf8))
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }
}
