import Crypto
import Foundation
import HTTPTypes
import Wire

/// A key to which tokens are bound, so that a token is useless without the key (DPoP, RFC 9449).
///
/// The key is created for one account and stored with its tokens.
struct DPoPKey: Sendable {
    private let key: P256.Signing.PrivateKey

    init() { key = P256.Signing.PrivateKey() }

    /// Returns nil for a text that is not a key.
    init?(text: String) {
        guard let bytes = Base64URL.decode(text), let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { return nil }  // Another release wrote the row.
        self.key = key
    }

    /// The private key as text to store; a secret.
    var text: String { Base64URL.encode(key.rawRepresentation) }

    /// Returns a proof that the sender has the key.
    ///
    /// The proof is valid for this request only, with its access token and the server's nonce if there are any.
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
    /// Returns a JSON web token, signed with ES256 (RFC 7515, RFC 7518).
    func token(_ header: [String: JSONValue], _ claims: [String: JSONValue]) throws -> String {
        let head = header.merging(["alg": .string("ES256")]) { $1 }
        let parts = try [head, claims].map { Base64URL.encode(try JSONValue.object($0).compact()) }
        let signed = parts.joined(separator: ".")
        return "\(signed).\(Base64URL.encode(try signature(for: Data(signed.utf8)).rawRepresentation))"
    }
}

extension P256.Signing.PublicKey {
    /// The JSON web key with its required members only (RFC 7517).
    var jwk: JSONValue {
        .object([
            "kty": .string("EC"), "crv": .string("P-256"),
            "x": .string(Base64URL.encode(rawRepresentation.prefix(32))),
            "y": .string(Base64URL.encode(rawRepresentation.suffix(32))),
        ])
    }

    /// The thumbprint of the key (RFC 7638).
    var thumbprint: String {
        get throws { Base64URL.encode(Data(SHA256.hash(data: try jwk.compact()))) }
    }
}
