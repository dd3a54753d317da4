import Foundation
import JWTKit
import Wire

/// Auth's public keys, `GET /.well-known/jwks.json` (RFC 7517).
package struct KeyDocument: Codable, Hashable, Sendable {
    package struct Key: Codable, Hashable, Sendable {
        package var kty: String
        package var crv: String
        /// The coordinates of the public point, in base64url.
        package var x: String
        package var y: String
        package var kid: String
        package var alg: String
        package var use: String

        /// Creates a P-256 key for ES256.
        package init(x: String, y: String, kid: String) {
            kty = "EC"
            crv = "P-256"
            self.x = x
            self.y = y
            self.kid = kid
            alg = AccessToken.algorithm
            use = "sig"
        }
    }

    package var keys: [Key]

    package init(keys: [Key]) {
        self.keys = keys
    }
}

/// The keys of a document, prepared for verification.
///
/// Each key has its own collection, so that jwt-kit never tries another key.
struct VerifyingKeys: Sendable {
    private let collections: [String: JWTKeyCollection]

    init(_ document: KeyDocument) async {
        var collections: [String: JWTKeyCollection] = [:]
        for key in document.keys
        where key.kty == "EC" && key.crv == "P-256" && key.alg == AccessToken.algorithm && !key.kid.isEmpty {
            // An invalid key verifies nothing; the other keys are still used.
            guard let x = Base64URL.decode(key.x), let y = Base64URL.decode(key.y),
                let ecdsa = try? ES256PublicKey(parameters: (x.base64EncodedString(), y.base64EncodedString()))
            else { continue }
            collections[key.kid] = await JWTKeyCollection().add(ecdsa: ecdsa, kid: JWKIdentifier(string: key.kid))
        }
        self.collections = collections
    }

    func collection(for kid: String) -> JWTKeyCollection? { collections[kid] }
}
