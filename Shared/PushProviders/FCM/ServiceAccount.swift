import CryptoExtras
import Foundation

/// A Google service account, from its JSON file.
struct ServiceAccount: Sendable {
    let projectID: String
    let email: String
    let keyID: String?
    /// The URL that issues access tokens, and the audience of assertions.
    let tokenURL: String
    let key: _RSA.Signing.PrivateKey

    private struct Document: Decodable {
        var project_id: String
        var client_email: String
        var private_key: String
        var private_key_id: String?
        var token_uri: String?
    }

    init(_ json: String) throws {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(json.utf8)) else {
            throw PushCredentialsError(
                "the FCM service account must be JSON with project_id, client_email and private_key"
            )
        }
        guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: document.private_key) else {
            throw PushCredentialsError("the private_key of the FCM service account must be an RSA key in PEM")
        }
        // The project id becomes part of a path.
        let isName = !document.project_id.isEmpty && document.project_id.utf8.allSatisfy(Self.isProjectIDCharacter)
        guard isName else { throw PushCredentialsError("the project_id of the FCM service account is invalid") }
        projectID = document.project_id
        email = document.client_email
        keyID = document.private_key_id
        tokenURL = document.token_uri ?? "https://oauth2.googleapis.com/token"
        self.key = key
    }

    /// Old project ids also contain `_`, `.` and `:`.
    private static func isProjectIDCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }

    /// Returns a signed assertion to exchange for an access token (RFC 7523).
    func assertion(at now: Date) throws -> String {
        var header = JSONObjectWriter()
        header.add("alg", "RS256")
        header.add("typ", "JWT")
        header.add("kid", keyID)
        var claims = JSONObjectWriter()
        claims.add("iss", email)
        claims.add("scope", "https://www.googleapis.com/auth/firebase.messaging")
        claims.add("aud", tokenURL)
        claims.add("iat", Int(now.timeIntervalSince1970))
        claims.add("exp", Int(now.timeIntervalSince1970) + 3_600)
        return try CompactJWS.make(header: header, claims: claims, key: key)
    }
}
