import Crypto
import Foundation
import Wire

/// The client secret for Apple: a token that auth signs for each request (Apple, "Creating a client secret").
struct AppleClientSecret: Sendable {
    /// The issuer of Apple's tokens, and the audience of client secrets.
    private static let audience = "https://appleid.apple.com"
    /// In seconds; Apple accepts up to six months.
    private static let lifetime: Int64 = 300

    let team: String
    let keyID: String
    let key: P256.Signing.PrivateKey

    /// - Throws: a `CryptoKitError` if `pem` is not a P-256 key in PEM.
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
