import Credentials
import Crypto
import CryptoExtras
import Foundation
import Wire

/// What a customer's account server has signed about one of its people: an RS256 JWS with the header field
/// `cty: diuit-auth;v=1`, whose times are ISO 8601 text (seed diuit) or numbers.
///
/// Every way in which one is refused is a 401 with a code of its own: they are read by whoever writes an account server,
/// and tell nothing but what is in the token.
struct AuthToken: Sendable {
    /// Longer text is refused unread, in bytes.
    static let maximumLength = 8_192
    /// How far the account server's clock may be ahead, in seconds.
    static let leeway: TimeInterval = 60

    /// What it says, once it was verified.
    struct Claims: Sendable {
        var subject: String
        var expiresAt: Date
        var nonce: String
    }

    /// The key that it says it was signed with.
    let keyID: String
    private let jws: CompactJWS

    /// Reads a token; nothing in it is trusted yet.
    init(_ text: String) throws {
        guard let jws = CompactJWS(text, maximumLength: Self.maximumLength) else {
            let message = "the auth token is no compact JWS, or has header fields that it may not have"
            throw Self.error("malformed_auth_token", message)
        }
        guard jws.algorithm == "RS256" else {
            throw Self.error("unsupported_algorithm", "the auth token must be signed by RS256")
        }
        guard jws.type.map({ $0.uppercased() == "JWT" }) ?? true, jws.contentType == "diuit-auth;v=1" else {
            let message = "the auth token's header must have cty diuit-auth;v=1, and no typ but JWT"
            throw Self.error("wrong_content_type", message)
        }
        guard let keyID = jws.keyID, (1...128).contains(keyID.utf8.count) else {
            throw Self.error("unknown_key", "the auth token's header must name its key in kid")
        }
        self.keyID = keyID
        self.jws = jws
    }

    /// What the token says, if it was signed by this key (SubjectPublicKeyInfo, DER), for this application, and counts.
    func claims(signedBy publicKey: Data, for application: String, now: Date) throws -> Claims {
        let key = try _RSA.Signing.PublicKey(derRepresentation: publicKey)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: jws.signature)
        let digest = SHA256.hash(data: jws.signingInput)
        guard jws.signature.count == 256,
            key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5)
        else { throw Self.error("wrong_signature", "the auth token was not signed by the key it names") }
        guard case .object(let fields) = try? WireJSON.decoder().decode(JSONValue.self, from: jws.payload) else {
            // Signed, yet no object.
            throw Self.error("malformed_claims", "the auth token's claims are no JSON object")
        }
        guard case .string(application) = fields["iss"] else {
            throw Self.error("wrong_issuer", "the auth token's iss must be the application")
        }
        guard case .string(let subject) = fields["sub"], (1...255).contains(subject.unicodeScalars.count) else {
            throw Self.malformed("sub", "a string of 1 to 255 characters")
        }
        guard subject != ServerToken.subject else {
            throw Self.malformed("sub", "a person; \(ServerToken.subject) is the server itself, which does not sign in")
        }
        guard case .string(let nonce) = fields["nonce"] else { throw Self.malformed("nonce", "a string") }
        let expiresAt = try Self.time("exp", in: fields)
        let issuedAt = try Self.time("iat", in: fields)
        let begins = try fields["nbf"].map { _ in try Self.time("nbf", in: fields) }
        guard expiresAt > now, expiresAt > issuedAt else {
            throw Self.error("auth_token_expired", "the auth token has expired")
        }
        guard max(issuedAt, begins ?? issuedAt) <= now.addingTimeInterval(Self.leeway) else {
            throw Self.error("auth_token_not_yet_valid", "the auth token does not count yet; is a clock wrong?")
        }
        return Claims(subject: subject, expiresAt: expiresAt, nonce: nonce)
    }

    private static func time(_ claim: String, in fields: [String: JSONValue]) throws -> Date {
        guard let date = ISO8601Time.date(claim: fields[claim]) else {
            throw malformed(claim, "an ISO 8601 time, or the seconds since 1970")
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
