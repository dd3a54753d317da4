import Crypto
import CryptoExtras
import Foundation
import SandboxServer
import Wire

/// Makes valid and invalid tokens of push clients.
enum Tokens {
    enum Signature { case raw, der, forged }

    /// Returns a provider token of APNs.
    static func apple(
        _ credentials: SandboxCredentials,
        issuedAt: Int,
        keyID: String? = nil,
        team: String? = nil,
        algorithm: String = "ES256",
        signature: Signature = .raw
    ) throws -> String {
        let input =
            part(["alg": .string(algorithm), "kid": .string(keyID ?? credentials.apns.keyId)]) + "."
            + part(["iss": .string(team ?? credentials.apns.teamId), "iat": .integer(Int64(issuedAt))])
        let key =
            try signature == .forged ? P256.Signing.PrivateKey() : .init(pemRepresentation: credentials.apns.key)
        let made = try key.signature(for: Data(input.utf8))
        return "\(input).\(Base64URL.encode(signature == .der ? made.derRepresentation : made.rawRepresentation))"
    }

    /// Returns a service account's assertion for Google's token endpoint.
    static func google(
        _ account: ServiceAccount,
        at time: Int,
        claims change: [String: JSONValue] = [:],
        forged: Bool = false
    ) throws -> String {
        let claims: [String: JSONValue] = [
            "iss": .string(account.clientEmail), "aud": .string(account.tokenUri), "iat": .integer(Int64(time)),
            "exp": .integer(Int64(time + 3_600)),
            "scope": .string("https://www.googleapis.com/auth/firebase.messaging"),
        ]
        let input = part(["alg": .string("RS256"), "typ": .string("JWT")]) + "." + part(claims.merging(change) { $1 })
        let key =
            try forged
            ? _RSA.Signing.PrivateKey(keySize: .bits2048) : .init(pemRepresentation: account.privateKey)
        let digest = SHA256.hash(data: Data(input.utf8))
        let signature = try key.signature(for: digest, padding: .insecurePKCS1v1_5)
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }

    /// Returns the `Authorization` header of a Web Push request.
    static func vapid(
        _ key: P256.Signing.PrivateKey,
        audience: String,
        expiry: Int,
        subject: String = "mailto:ops@example.org",
        shownAs other: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let input =
            part(["alg": .string("ES256"), "typ": .string("JWT")]) + "."
            + part(["aud": .string(audience), "exp": .integer(Int64(expiry)), "sub": .string(subject)])
        let signature = try key.signature(for: Data(input.utf8)).rawRepresentation
        let shown = (other ?? key).publicKey.x963Representation
        return "vapid t=\(input).\(Base64URL.encode(signature)), k=\(Base64URL.encode(shown))"
    }

    private static func part(_ fields: [String: JSONValue]) -> String {
        // Strings and numbers cannot fail to encode.
        (try? JSONValue.object(fields).compact()).map { Base64URL.encode($0) } ?? ""
    }
}
