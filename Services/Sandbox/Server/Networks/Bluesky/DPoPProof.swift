import Crypto
import Foundation
import NIOHTTP1
import Wire

/// A proof that the client possesses a key (RFC 9449, section 4), parsed strictly.
struct DPoPProof {
    enum Violation: Error {
        case bad(String)
        case nonce
    }

    /// The key's thumbprint (RFC 7638).
    let key: String

    /// - Throws: `Violation` unless the proof is for this request, this token and the current time.
    init(of request: NetworkRequest, token: String?, _ grants: BlueskyGrants, now: Date) throws(Violation) {
        let given = request.headers["DPoP"]
        guard given.count == 1, let text = given.first, text.utf8.count <= 4_096 else {
            throw .bad("DPoP proof required")
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            let signature = Base64URL.decode(parts[2]), signature.count == 64,
            header["typ"]?.text == "dpop+jwt", header["alg"]?.text == "ES256", let jwk = header["jwk"],
            case .object(let fields) = jwk, fields["d"] == nil,
            jwk["kty"]?.text == "EC", jwk["crv"]?.text == "P-256",
            let x = jwk["x"]?.text.flatMap({ Base64URL.decode($0) }), x.count == 32,
            let y = jwk["y"]?.text.flatMap({ Base64URL.decode($0) }), y.count == 32
        else { throw .bad("the proof is malformed") }
        guard let key = try? P256.Signing.PublicKey(rawRepresentation: x + y),
            let signed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signed, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { throw .bad("the signature of the proof is invalid") }
        guard claims["htm"]?.text == request.method.rawValue, claims["htu"]?.text == request.url else {
            throw .bad("the proof is for another request")
        }
        guard let at = claims["iat"]?.whole, abs(Double(at) - now.timeIntervalSince1970) <= 60 else {
            throw .bad("the proof is not from the last or next 60 seconds")
        }
        let bound = token.map { Base64URL.encode(Data(SHA256.hash(data: Data($0.utf8)))) }
        guard claims["ath"]?.text == bound else { throw .bad("the proof is for another token") }
        guard grants.isCurrentNonce(claims["nonce"]?.text) else { throw .nonce }
        guard let id = claims["jti"]?.text, !id.isEmpty, grants.registerProof(id) else {
            throw .bad("the proof was used before")
        }
        let sorted =
            "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(Base64URL.encode(x))\",\"y\":\"\(Base64URL.encode(y))\"}"
        self.key = Base64URL.encode(Data(SHA256.hash(data: Data(sorted.utf8))))
    }

    private static func json(_ part: Substring) -> JSONValue? {
        // The initializer reports unreadable JSON as a malformed proof.
        Base64URL.decode(part).flatMap { try? JSONParser.parse($0) }
    }
}
