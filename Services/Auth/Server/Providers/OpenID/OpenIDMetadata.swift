import Foundation
import Wire

/// Where a provider of OpenID Connect is asked for what, by its own word (OpenID Connect Discovery, section 3).
struct OpenIDMetadata: Sendable {
    let authorizationEndpoint: String
    let tokenEndpoint: String
    let keyDocument: String
    let revocationEndpoint: String?
    /// Whether its answers always name their issuer (RFC 9207).
    let sendsIssuer: Bool
    /// Whether it takes a client's secret in the form; else it is sent as `Basic`, which all must take.
    let supportsSecretInForm: Bool

    /// Where the document of an issuer is.
    static func address(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// Reads the document.
    ///
    /// - Throws: `ProviderError` for one of another issuer, which may stand where anybody can put it, and for one that
    ///   lacks what is needed or sends secrets over cleartext.
    init(_ json: JSONValue, of issuer: String) throws {
        guard json["issuer"]?.text == issuer else { throw ProviderError("its document is another issuer's") }
        // What the operator has set may be in cleartext, as on a machine of his own; nothing else may.
        let mayBePlain = issuer.hasPrefix("http://")
        func url(_ name: String) throws -> String? {
            guard let text = json[name]?.text else { return nil }
            let parts = URLComponents(string: text)
            guard let parts, parts.host?.isEmpty == false, parts.fragment == nil,
                parts.scheme == "https" || (mayBePlain && parts.scheme == "http")
            else { throw ProviderError("the \(name) of its document is no address over https") }
            return text
        }
        func needed(_ name: String) throws -> String {
            guard let url = try url(name) else { throw ProviderError("its document has no \(name)") }
            return url
        }
        authorizationEndpoint = try needed("authorization_endpoint")
        tokenEndpoint = try needed("token_endpoint")
        keyDocument = try needed("jwks_uri")
        revocationEndpoint = try url("revocation_endpoint")
        sendsIssuer = json["authorization_response_iss_parameter_supported"] == .bool(true)
        if case .array(let methods) = json["token_endpoint_auth_methods_supported"] {
            supportsSecretInForm = methods.contains(.string("client_secret_post"))
        } else {
            supportsSecretInForm = false
        }
    }
}
