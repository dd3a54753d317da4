import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceHost
import Wire

/// Serves the documents with which clients verify Roost's tokens: `/.well-known/jwks.json` and the metadata that names
/// it.
struct KeyDocumentRoutes {
    let keys: SigningKeys
    let publicURL: String

    /// The server metadata.
    ///
    /// Auth has no authorization or token endpoint, so it names none (RFC 8414, section 2).
    private struct Metadata: Encodable {
        var issuer: String
        var jwks_uri: String
        var service_documentation: String
        var revocation_endpoint: String
        /// Possession of the token is enough to revoke it.
        var revocation_endpoint_auth_methods_supported = ["none"]
        /// Only for services of the suite, which authenticate with their own tokens.
        var introspection_endpoint: String
        var userinfo_endpoint: String
        var response_types_supported: [String] = []
        var grant_types_supported: [String] = []
        var subject_types_supported = ["public"]
        var scopes_supported = ["admin"]
        var claims_supported = ["sub", "name", "preferred_username", "email", "email_verified"]

        init(publicURL: String) {
            issuer = publicURL
            jwks_uri = "\(publicURL)/.well-known/jwks.json"
            service_documentation = "\(publicURL)/docs"
            revocation_endpoint = "\(publicURL)/oauth/revoke"
            introspection_endpoint = "\(publicURL)/oauth/introspect"
            userinfo_endpoint = "\(publicURL)/oauth/userinfo"
        }
    }

    func add(to routes: SuiteRoutes) {
        routes.open.get(".well-known/jwks.json", use: showKeys)
        routes.open.get(".well-known/openid-configuration", use: showMetadata)
        routes.open.get(".well-known/oauth-authorization-server", use: showMetadata)
    }

    func showKeys(request: Request, context: SuiteContext) async throws -> Response {
        try .cached(keys.document, for: request)
    }

    func showMetadata(request: Request, context: SuiteContext) async throws -> Response {
        try .cached(Metadata(publicURL: publicURL), for: request)
    }
}

extension Response {
    /// Returns a document that may be cached for five minutes, or 304 if the client has it (RFC 9110, section 13.1.2).
    fileprivate static func cached(_ value: some Encodable, for request: Request) throws -> Response {
        let body = try WireJSON.encoder(sortedKeys: true).encode(value)
        let tag = "\"\(Base64URL.encode(Data(SHA256.hash(data: body)).prefix(16)))\""
        var headers: HTTPFields = [.cacheControl: "public, max-age=300", .eTag: tag]
        let clientTags = request.headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        // RFC 9110 requires weak comparison here: a `W/` before the tag is ignored.
        guard !clientTags.contains(where: { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }) else {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = "application/json; charset=utf-8"
        headers[.contentLength] = "\(body.count)"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
