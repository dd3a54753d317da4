import Crypto
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Auth's tokens and key document, before libraries that others verify with.
@Suite(.timeLimit(.minutes(5))) struct TokenJudgementTests {
    private static let issuer = "http://127.0.0.1:8080"

    @Test func othersVerifyOurTokensByOurKeyDocument() async throws {
        try await withAuth { auth in
            let ada = try await auth.signUp("ada")
            let keys = try await auth.service.send(.get, "/.well-known/jwks.json").json
            let judged = try await AuthOracle.judge(ada.jwt, keys: keys, issuer: Self.issuer, audience: "roost")
            for library in ["pyjwt", "joserfc"] {
                #expect(judged[library]["sub"].string == ada.userId, "\(library): \(judged)")
                #expect(judged[library]["app"].string == "roost" && judged[library]["sid"].string != nil)
            }
        }
    }

    @Test func othersRefuseWhatIsNotOurs() async throws {
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
                let judged = try await AuthOracle.judge(token, keys: keys, issuer: issuer, audience: audience)
                #expect(judged["pyjwt"] == .null && judged["joserfc"] == .null, "\(judged)")
            }
        }
    }
}
