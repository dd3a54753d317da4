import Crypto
import Foundation
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// A signed-in user and auth's signing key, as an attacker with the key would use it.
struct StolenKey: Sendable {
    let auth: Auth
    let person: Auth.Person
    let kid: String
    let key: P256.Signing.PrivateKey
    let claims: [String: JSONValue]

    init(_ auth: Auth) async throws {
        self.auth = auth
        person = try await auth.signUp("ada")
        let keys = try await SigningKeyStore(db: auth.service.database.pool).list()
        let current = try #require(keys.first { $0.state == .current })
        kid = current.kid
        key = try P256.Signing.PrivateKey(
            rawRepresentation: TokenEncryptor(keys: Auth.key).open(
                current.encryptedPrivateKey,
                for: "signing_keys/\(kid)"
            )
        )
        let payload = try #require(Base64URL.decode(person.jwt.split(separator: ".")[1]))
        claims = try WireJSON.decoder().decode([String: JSONValue].self, from: payload)
    }

    var header: [String: JSONValue] { ["alg": "ES256", "kid": .string(kid), "typ": "at+jwt"] }

    func input(header: [String: JSONValue], claims: [String: JSONValue]? = nil) -> String {
        "\(Base64URL.encode(Data(json(header).utf8))).\(Base64URL.encode(Data(json(claims ?? self.claims).utf8)))"
    }

    func signed(
        header: [String: JSONValue]? = nil,
        claims: [String: JSONValue]? = nil,
        by signer: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let input = input(header: header ?? self.header, claims: claims)
        let signature = try (signer ?? key).signature(for: Data(input.utf8))
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }

    func refuses(_ token: String, _ attack: String) async throws {
        let answer = try await auth.me(token)
        #expect(answer.status == 403, "\(attack): \(answer.status) \(answer.text)")
    }
}
