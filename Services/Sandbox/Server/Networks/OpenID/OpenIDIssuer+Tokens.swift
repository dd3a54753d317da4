import Crypto
import CryptoExtras
import Foundation
import Wire

extension OpenIDIssuer {
    func keyDocument() throws -> JSONValue {
        let signing = try signingKey()
        let numbers = try signing.key.publicKey.getKeyPrimitives()
        return [
            "keys": [
                [
                    "kty": "RSA", "use": "sig", "alg": "RS256", "kid": .string(signing.id),
                    "n": .string(Base64URL.encode(numbers.modulus)),
                    "e": .string(Base64URL.encode(numbers.publicExponent)),
                ]
            ]
        ]
    }

    func claims(of person: Person, for client: String, at origin: String) -> [String: JSONValue] {
        let profile = profile(of: person)
        let now = Int(clock.now.timeIntervalSince1970)
        var claims: [String: JSONValue] = [
            "iss": .string(issuer(at: origin)), "aud": .string(client), "sub": .string(subject(of: person)),
            "iat": .int(now), "exp": .int(now + (isApple ? 86_400 : 3_600)),
        ]
        if let email = profile.email {
            claims["email"] = .string(email)
            // Apple encodes booleans as strings.
            claims["email_verified"] =
                isApple ? .string(String(profile.emailVerified)) : .bool(profile.emailVerified)
        }
        guard !isApple else { return claims }
        claims["azp"] = .string(client)
        claims["name"] = .string(person.displayName)
        claims["picture"] = .string("\(origin)/sandbox/media/500001")
        claims["hd"] = profile.hostedDomain.map { .string($0) }
        return claims
    }

    func idToken(_ claims: [String: JSONValue]) throws -> String {
        let signing = try signingKey()
        let header: JSONValue = ["alg": "RS256", "kid": .string(signing.id), "typ": "JWT"]
        let claims = JSONValue.object(claims)
        let input = "\(Base64URL.encode(try header.compact())).\(Base64URL.encode(try claims.compact()))"
        let digest = SHA256.hash(data: Data(input.utf8))
        let signature = try signing.key.signature(for: digest, padding: .insecurePKCS1v1_5)
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }

    func idToken(_ draft: IDTokenDraft, at origin: String) throws -> String {
        let person = community.findOrCreate(draft.person)
        var claims = claims(of: person, for: draft.audience ?? clientID, at: origin)
        claims["nonce"] = draft.nonce.map { .string($0) }
        for (name, value) in draft.claims ?? [:] { claims[name] = value == .null ? nil : value }
        return try idToken(claims)
    }
}
