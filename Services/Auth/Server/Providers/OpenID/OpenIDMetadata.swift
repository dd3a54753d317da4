import Foundation
import Wire

/// The endpoints of an OpenID Connect provider, from its discovery document (OpenID Connect Discovery, section 3).
struct OpenIDMetadata: Sendable {
    let authorizationEndpoint: String
    let tokenEndpoint: String
    let keyDocument: String
    let revocationEndpoint: String?
    /// Whether the provider's responses always contain their issuer (RFC 9207).
    let sendsIssuer: Bool
    /// Whether the provider accepts client secrets in the form; otherwise the secret is sent as `Basic`, which all must
    /// accept.
    let supportsSecretInForm: Bool

    static func address(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// Parses the document.
    ///
    /// - Throws: `ProviderError` if the document names another issuer, lacks a required endpoint, or has an endpoint
    ///   without TLS.
    init(_ json: JSONValue, of issuer: String) throws {
        guard json["issuer"]?.text == issuer else { throw ProviderError("the discovery document names another issuer") }
        // Plain HTTP is allowed only if the operator configured an HTTP issuer, for example on a development machine.
        let allowsHTTP = issuer.hasPrefix("http://")
        func url(_ name: String) throws -> String? {
            guard let text = json[name]?.text else { return nil }
            let parts = URLComponents(string: text)
            guard let parts, parts.host?.isEmpty == false, parts.fragment == nil,
                parts.scheme == "https" || (allowsHTTP && parts.scheme == "http")
            else { throw ProviderError("the discovery document's \(name) is not an HTTPS URL") }
            return text
        }
        func required(_ name: String) throws -> String {
            guard let url = try url(name) else { throw ProviderError("the discovery document has no \(name)") }
            return url
        }
        authorizationEndpoint = try required("authorization_endpoint")
        tokenEndpoint = try required("token_endpoint")
        keyDocument = try required("jwks_uri")
        revocationEndpoint = try url("revocation_endpoint")
        sendsIssuer = json["authorization_response_iss_parameter_supported"] == .bool(true)
        if case .array(let methods) = json["token_endpoint_auth_methods_supported"] {
            supportsSecretInForm = methods.contains(.string("client_secret_post"))
        } else {
            supportsSecretInForm = false
        }
    }
}
