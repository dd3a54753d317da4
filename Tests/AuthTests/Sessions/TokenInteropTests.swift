import Crypto
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Auth's tokens and key document, verified with independent libraries.
@Suite("Tokens in other libraries", .timeLimit(.minutes(5))) struct TokenInteropTests {
    private static let issuer = "http://127.0.0.1:8080"

    @Test("PyJWT and joserfc accept a token")
    func verified() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let keys = try await auth.service.send(.get, "/.well-known/jwks.json").json
            let results = try await AuthOracle.verify(ada.jwt, keys: keys, issuer: Self.issuer, audience: "roost")
            for library in ["pyjwt", "joserfc"] {
                #expect(results[library]["sub"].string == ada.userId, "\(library): \(results)")
                #expect(results[library]["app"].string == "roost")
                #expect(results[library]["sid"].string != nil)
            }
        }
    }

    @Test("PyJWT and joserfc refuse a forged token, another issuer and another audience")
    func rejected() async throws {
        try await withAuth { auth in
            let key = try await StolenKey(auth)
            let keys = try await auth.service.send(.get, "/.well-known/jwks.json").json
            let forged = try key.signed(by: P256.Signing.PrivateKey())
            let parts = key.person.jwt.split(separator: ".")
            let unsigned = "\(key.input(header: ["alg": "none", "kid": .string(key.kid)]))."
            for (token, issuer, audience) in [
                (forged, Self.issuer, "roost"), (unsigned, Self.issuer, "roost"),
                ("\(parts[0]).\(parts[1]).AAAA", Self.issuer, "roost"),
                (key.person.jwt, "https://other.example", "roost"), (key.person.jwt, Self.issuer, "other"),
            ] {
                let results = try await AuthOracle.verify(token, keys: keys, issuer: issuer, audience: audience)
                #expect(results["pyjwt"] == .null, "\(results)")
                #expect(results["joserfc"] == .null, "\(results)")
            }
        }
    }
}
