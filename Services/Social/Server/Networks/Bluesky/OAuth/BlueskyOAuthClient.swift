import Configuration
import Crypto
import Foundation
import OAuth1
import ServiceHost
import Wire

/// The OAuth client that this deployment is for the AT Protocol's servers.
///
/// Its id is the URL of a metadata document that is served here. On a developer's machine, which no server can reach,
/// the id is a localhost URL that contains the metadata.
struct BlueskyOAuthClient: Sendable {
    static let scopes = "atproto transition:generic transition:chat.bsky"
    /// The path below `/networks/bluesky/`.
    private static let document = "client-metadata.json"

    let id: String
    private let callback: String
    /// `BLUESKY_CLIENT_SECRET`: servers allow longer sessions for clients with a key.
    private let key: P256.Signing.PrivateKey?

    /// - Throws: `unsupported` if `callback` is not a URL from which servers can identify the client.
    init(callback: String, _ application: ApplicationKey) throws {
        self.callback = callback
        guard let origin = HTTPOrigin(callback) else { throw NetworkError.unsupported("PUBLIC_URL is not a valid URL") }
        if origin.isSecure {
            id = application.id ?? callback.replacing(/callback$/, with: Self.document)
            // A malformed key was rejected at startup.
            key = application.secret.flatMap { try? P256.Signing.PrivateKey(pemRepresentation: $0) }
        } else if ["127.0.0.1", "[::1]"].contains(origin.host) {
            id = "http://localhost".adding(["redirect_uri": callback, "scope": Self.scopes])
            key = nil
        } else {
            throw NetworkError.unsupported("Bluesky requires a PUBLIC_URL with https")
        }
    }

    /// Returns `BLUESKY_CLIENT_SECRET`: a P-256 private key in PEM format.
    ///
    /// - Throws: `SettingError` for a value that is not such a key.
    static func key(_ configuration: ConfigReader) throws -> String? {
        guard let pem = try configuration.key("BLUESKY_CLIENT_SECRET") else { return nil }
        guard (try? P256.Signing.PrivateKey(pemRepresentation: pem)) != nil else {
            throw SettingError("BLUESKY_CLIENT_SECRET", "is not a P-256 private key in PEM format")
        }
        return pem
    }

    /// The client's metadata document; nil if the id contains the metadata.
    var metadata: JSONValue? {
        get throws {
            guard id.hasPrefix("https://") else { return nil }
            var fields: [String: JSONValue] = [
                "client_id": .string(id), "client_name": .string("Roost"),
                "client_uri": .string(HTTPOrigin(callback)?.url ?? callback),
                "redirect_uris": .array([.string(callback)]), "scope": .string(Self.scopes),
                "grant_types": .array([.string("authorization_code"), .string("refresh_token")]),
                "response_types": .array([.string("code")]), "application_type": .string("web"),
                "dpop_bound_access_tokens": .bool(true), "token_endpoint_auth_method": .string("none"),
            ]
            if let key {
                guard case .object(var jwk) = key.publicKey.jwk else { return nil }
                jwk["kid"] = .string(try key.publicKey.thumbprint)
                jwk["use"] = .string("sig")
                jwk["alg"] = .string("ES256")
                fields["token_endpoint_auth_method"] = .string("private_key_jwt")
                fields["token_endpoint_auth_signing_alg"] = .string("ES256")
                fields["jwks"] = .object(["keys": .array([.object(jwk)])])
            }
            return .object(fields)
        }
    }

    /// Returns the form fields that identify the client, with a proof if there is a key (RFC 7523).
    func fields(for issuer: String, now: Date) throws -> [FormField] {
        let clientID = [FormField("client_id", id)]
        guard let key else { return clientID }
        let at = Int64(now.timeIntervalSince1970)
        let assertion = try key.token(
            ["kid": .string(try key.publicKey.thumbprint)],
            [
                "iss": .string(id), "sub": .string(id), "aud": .string(issuer), "iat": .integer(at),
                "exp": .integer(at + 60), "jti": .string(UUID().uuidString),
            ]
        )
        return clientID + [
            FormField("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            FormField("client_assertion", assertion),
        ]
    }
}
