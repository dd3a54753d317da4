import Credentials
import Crypto
import CryptoExtras
import Foundation
import Wire

/// A token about a user, signed by a customer's account server: an RS256 JWS with the header field `cty:
/// diuit-auth;v=1`.
///
/// Its times are ISO 8601 text (seed diuit) or numbers.
///
/// Each reason for a rejection is a 401 with its own code. The codes help developers of account servers, and reveal
/// nothing beyond the token's content.
struct AuthToken: Sendable {
    /// The longest accepted token, in bytes.
    static let maximumLength = 8_192
    /// The accepted clock difference when the account server's clock is ahead, in seconds.
    static let leeway: TimeInterval = 60

    struct Claims: Sendable {
        var subject: String
        var expiresAt: Date
        var nonce: String
    }

    /// The `kid` of the header.
    let keyID: String
    private let jws: CompactJWS

    /// Parses a token without verifying its signature.
    init(_ text: String) throws {
        guard let jws = CompactJWS(text, maximumLength: Self.maximumLength) else {
            let message = "the auth token is not a compact JWS, or its header has unsupported fields"
            throw Self.error("malformed_auth_token", message)
        }
        guard jws.algorithm == "RS256" else {
            throw Self.error("unsupported_algorithm", "the auth token must be signed with RS256")
        }
        guard jws.type.map({ $0.uppercased() == "JWT" }) ?? true, jws.contentType == "diuit-auth;v=1" else {
            let message = "the auth token's header must have cty diuit-auth;v=1, and typ must be JWT or absent"
            throw Self.error("wrong_content_type", message)
        }
        guard let keyID = jws.keyID, (1...128).contains(keyID.utf8.count) else {
            throw Self.error("unknown_key", "the auth token's header must name its key in kid")
        }
        self.keyID = keyID
        self.jws = jws
    }

    /// Verifies the signature with a public key (SubjectPublicKeyInfo, DER), checks the claims and returns them.
    func claims(signedBy publicKey: Data, for application: String, now: Date) throws -> Claims {
        let key = try _RSA.Signing.PublicKey(derRepresentation: publicKey)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: jws.signature)
        let digest = SHA256.hash(data: jws.signingInput)
        guard jws.signature.count == 256,
            key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5)
        else { throw Self.error("wrong_signature", "the auth token's signature does not match the key named in kid") }
        guard case .object(let fields) = try? WireJSON.decoder().decode(JSONValue.self, from: jws.payload) else {
            // The signature is valid, so the account server itself sent a wrong payload.
            throw Self.error("malformed_claims", "the auth token's claims are not a JSON object")
        }
        guard case .string(application) = fields["iss"] else {
            throw Self.error("wrong_issuer", "the auth token's iss must be the application's id")
        }
        guard case .string(let subject) = fields["sub"], (1...255).contains(subject.unicodeScalars.count) else {
            throw Self.malformed("sub", "a string of 1 to 255 characters")
        }
        guard subject != ServerToken.subject else {
            throw Self.malformed("sub", "a user's id; \(ServerToken.subject) is reserved for the account server")
        }
        guard case .string(let nonce) = fields["nonce"] else { throw Self.malformed("nonce", "a string") }
        let expiresAt = try Self.time("exp", in: fields)
        let issuedAt = try Self.time("iat", in: fields)
        let begins = try fields["nbf"].map { _ in try Self.time("nbf", in: fields) }
        guard expiresAt > now, expiresAt > issuedAt else {
            throw Self.error("auth_token_expired", "the auth token has expired")
        }
        guard max(issuedAt, begins ?? issuedAt) <= now.addingTimeInterval(Self.leeway) else {
            let message = "the auth token is not valid yet; check the account server's clock"
            throw Self.error("auth_token_not_yet_valid", message)
        }
        return Claims(subject: subject, expiresAt: expiresAt, nonce: nonce)
    }

    private static func time(_ claim: String, in fields: [String: JSONValue]) throws -> Date {
        guard let date = ISO8601Time.date(claim: fields[claim]) else {
            throw malformed(claim, "an ISO 8601 time or the seconds since 1970")
        }
        return date
    }

    private static func malformed(_ claim: String, _ kind: String) -> APIError {
        error("malformed_claims", "the auth token's \(claim) must be \(kind)")
    }

    static func error(_ code: String, _ message: String) -> APIError {
        APIError(.unauthenticated, code, message)
    }
}
