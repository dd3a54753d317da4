import Crypto
import Foundation
import HTTPTypes
import Wire

/// A key that tokens are bound to: who has a token and not the key has nothing (DPoP, RFC 9449).
///
/// It is made for one account, and kept with that account's tokens.
struct DPoPKey: Sendable {
    private let key: P256.Signing.PrivateKey

    init() { key = P256.Signing.PrivateKey() }

    /// Nil for what is no key.
    init?(text: String) {
        guard let bytes = Base64URL.decode(text), let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { return nil }  // of a row that another version wrote
        self.key = key
    }

    /// To be kept; a secret.
    var text: String { Base64URL.encode(key.rawRepresentation) }

    /// Says that who asks this has the key: for this one request, the access token that goes with it if one does, and
    /// what the server wanted to see in it.
    func proof(of request: NetworkRequest, token: String?, nonce: String?, now: Date) throws -> String {
        let claims: [String: JSONValue?] = [
            "jti": .string(UUID().uuidString), "htm": .string(request.method.rawValue),
            "htu": .string(String(request.url.prefix { $0 != "?" && $0 != "#" })),
            "iat": .integer(Int64(now.timeIntervalSince1970)), "nonce": nonce.map(JSONValue.string),
            "ath": token.map { .string(Base64URL.encode(Data(SHA256.hash(data: Data($0.utf8))))) },
        ]
        return try key.token(["typ": .string("dpop+jwt"), "jwk": key.publicKey.jwk], claims.compactMapValues { $0 })
    }
}

extension P256.Signing.PrivateKey {
    /// A JSON web token, signed by ES256 (RFC 7515, RFC 7518).
    func token(_ header: [String: JSONValue], _ claims: [String: JSONValue]) throws -> String {
        let head = header.merging(["alg": .string("ES256")]) { $1 }
        let parts = try [head, claims].map { Base64URL.encode(try JSONValue.object($0).compact()) }
        let signed = parts.joined(separator: ".")
        return "\(signed).\(Base64URL.encode(try signature(for: Data(signed.utf8)).rawRepresentation))"
    }
}

extension P256.Signing.PublicKey {
    /// As a JSON web key, with no more in it than the key (RFC 7517).
    var jwk: JSONValue {
        .object([
            "kty": .string("EC"), "crv": .string("P-256"),
            "x": .string(Base64URL.encode(rawRepresentation.prefix(32))),
            "y": .string(Base64URL.encode(rawRepresentation.suffix(32))),
        ])
    }

    /// What the key is called by who knows nothing but the key (RFC 7638).
    var thumbprint: String {
        get throws { Base64URL.encode(Data(SHA256.hash(data: try jwk.compact()))) }
    }
}
