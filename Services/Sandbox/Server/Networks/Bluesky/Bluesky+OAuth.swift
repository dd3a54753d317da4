import Foundation
import NIOHTTP1
import Wire

/// OAuth of the AT Protocol: pushed authorization requests, PKCE and DPoP-bound tokens.
///
/// The PDS is its own authorization server. It accepts only development clients
/// (`http://localhost?redirect_uri=…&scope=…`), because it cannot fetch the metadata documents of other clients.
extension Bluesky {
    private static let supportedScopes: Set<String> = [
        "atproto", "transition:generic", "transition:chat.bsky", "transition:email",
    ]
    private static let lifetime = 900

    /// Responds to a request whose path is not an XRPC method.
    func page(_ request: NetworkRequest) throws -> WebResponse {
        switch (request.method, request.path.joined(separator: "/")) {
        case (.GET, ".well-known/oauth-protected-resource"):
            return .jsonValue([
                "resource": .string(request.base), "authorization_servers": [.string(request.base)],
                "bearer_methods_supported": ["header"], "scopes_supported": [],
            ])
        case (.GET, ".well-known/oauth-authorization-server"): return .jsonValue(Self.metadata(request.base))
        case (.POST, "oauth/par"): return try granting(request, push)
        case (.GET, "oauth/authorize"), (.POST, "oauth/authorize"): return authorize(request)
        case (.POST, "oauth/token"): return try granting(request, token)
        case (.POST, "oauth/revoke"): return try granting(request, revoke)
        case (.GET, let path) where path.hasPrefix("did:"):
            guard let person = person(path) else { return errorResponse(.notFound, of: request) }
            return .jsonValue(document(of: person, request))
        default: return .text("This is a sandbox.")
        }
    }

    private static func metadata(_ base: String) -> JSONValue {
        [
            "issuer": .string(base), "authorization_endpoint": .string("\(base)/oauth/authorize"),
            "token_endpoint": .string("\(base)/oauth/token"), "revocation_endpoint": .string("\(base)/oauth/revoke"),
            "pushed_authorization_request_endpoint": .string("\(base)/oauth/par"),
            "require_pushed_authorization_requests": true, "client_id_metadata_document_supported": true,
            "authorization_response_iss_parameter_supported": true,
            "response_types_supported": ["code"], "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"], "dpop_signing_alg_values_supported": ["ES256"],
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
            "scopes_supported": .list(supportedScopes.sorted().map(JSONValue.string)),
        ]
    }

    // MARK: Authentication with DPoP-bound tokens

    /// - Throws: the error responses of a resource server.
    func caller(bound token: String, _ request: NetworkRequest) throws -> Caller {
        let proof: DPoPProof
        do {
            proof = try DPoPProof(of: request, token: token, bound, now: clock.now)
        } catch DPoPProof.Violation.nonce {
            throw challenge("use_dpop_nonce", "Resource server requires nonce in DPoP proof")
        } catch DPoPProof.Violation.bad(let why) {
            throw challenge("invalid_dpop_proof", why)
        }
        guard bound.key(of: token) == proof.key else { throw challenge("invalid_token", "Invalid DPoP key binding") }
        do {
            return try caller(token: token)
        } catch GrantError.expired {
            throw challenge("invalid_token", "\"exp\" claim timestamp check failed")
        } catch GrantError.unknown {
            throw challenge("invalid_token", "Token could not be verified")
        }
    }

    private func challenge(_ name: String, _ why: String) -> NetworkErrorResponse {
        var response = Self.error(name, why, .unauthorized)
        response.headers.add(name: "WWW-Authenticate", value: "DPoP error=\"\(name)\", error_description=\"\(why)\"")
        response.headers.add(name: "DPoP-Nonce", value: bound.nonce)
        return NetworkErrorResponse(response, name)
    }

    // MARK: Authorization server

    private func granting(
        _ request: NetworkRequest,
        _ response: (NetworkRequest, DPoPProof) throws -> WebResponse
    ) throws -> WebResponse {
        do {
            var response = try response(request, DPoPProof(of: request, token: nil, bound, now: clock.now))
            response.headers.replaceOrAdd(name: "DPoP-Nonce", value: bound.nonce)
            return response
        } catch DPoPProof.Violation.nonce {
            throw apiError("use_dpop_nonce", "Authorization server requires nonce in DPoP proof")
        } catch DPoPProof.Violation.bad(let why) {
            throw apiError("invalid_dpop_proof", why)
        }
    }

    private func apiError(_ name: String, _ why: String) -> NetworkErrorResponse {
        let response = WebResponse.jsonValue(
            ["error": .string(name), "error_description": .string(why)],
            .badRequest,
            headers: ["DPoP-Nonce": bound.nonce]
        )
        return NetworkErrorResponse(response, name)
    }

    private func push(_ request: NetworkRequest, _ proof: DPoPProof) throws -> WebResponse {
        guard let client = request["client_id"], let allowed = Self.loopback(client) else {
            throw apiError("invalid_client_metadata", "client_id is not a development client")
        }
        guard let redirect = request["redirect_uri"], allowed.redirects.contains(redirect),
            ["127.0.0.1", "[::1]"].contains(URLComponents(string: redirect)?.percentEncodedHost)
        else { throw apiError("invalid_request", "Invalid redirect_uri") }
        let scopes = Set((request["scope"] ?? "").split(separator: " ").map(String.init))
        guard scopes.contains("atproto"), scopes.isSubset(of: allowed.scopes), scopes.isSubset(of: Self.supportedScopes)
        else {
            throw apiError("invalid_scope", "scope exceeds the scopes of client_id")
        }
        guard request["response_type"] == "code", request["code_challenge_method"] == "S256",
            let challenge = request["code_challenge"], challenge.utf8.count == 43
        else { throw apiError("invalid_request", "response_type must be code, with an S256 code_challenge") }
        if let hint = request["login_hint"], person(hint) == nil {
            throw apiError("invalid_request", "Invalid login_hint")
        }
        let uri = bound.push(
            BlueskyGrants.PushedAuthorizationRequest(
                client: client,
                redirect: redirect,
                scopes: scopes,
                state: request["state"],
                challenge: challenge,
                key: proof.key,
                expiry: clock.now + 300
            )
        )
        return .jsonValue(["request_uri": .string(uri), "expires_in": 299], .created)
    }

    /// Returns the redirect addresses and scopes that a development client's id allows, or nil for any other client id.
    private static func loopback(_ client: String) -> (redirects: [String], scopes: Set<String>)? {
        guard client == "http://localhost" || client.hasPrefix("http://localhost?") else { return nil }
        let fields = NetworkRequest.fields(String(client.dropFirst("http://localhost?".count)))
        let redirects = fields.filter { $0.name == "redirect_uri" }.map(\.value)
        let scope = fields.first { $0.name == "scope" }?.value ?? "atproto"
        let standard = ["http://127.0.0.1/", "http://[::1]/"]
        return (redirects.isEmpty ? standard : redirects, Set(scope.split(separator: " ").map(String.init)))
    }

    private func authorize(_ request: NetworkRequest) -> WebResponse {
        guard let uri = request["request_uri"], let pushed = bound.pushed(uri), pushed.client == request["client_id"]
        else { return .html("<p>request_uri is unknown or has expired.</p>", status: .badRequest) }
        guard let response = ConsentPage.decision(request, among: community) else {
            let page = ConsentPage(
                network: "Bluesky",
                app: pushed.client,
                people: community.people,
                fields: request.query
            )
            return .html(page.html)
        }
        bound.drop(uri)
        let responseFields: [(name: String, value: String?)] = [("iss", request.base), ("state", pushed.state)]
        guard let person = response else {
            return .redirect(to: ConsentPage.url(pushed.redirect, responseFields + [("error", "access_denied")]))
        }
        let code = grants.code(
            Grants.Code(
                person: person.number,
                app: pushed.client,
                redirect: pushed.redirect,
                scopes: pushed.scopes,
                challenge: pushed.challenge,
                expiry: clock.now + 60
            )
        )
        bound.bind(code, to: pushed.key)
        return .redirect(to: ConsentPage.url(pushed.redirect, responseFields + [("code", code)]))
    }

    private func token(_ request: NetworkRequest, _ proof: DPoPProof) throws -> WebResponse {
        guard let client = request["client_id"] else { throw apiError("invalid_client", "client_id is missing") }
        switch request["grant_type"] {
        case "authorization_code":
            guard let text = request["code"], bound.key(of: text) == proof.key,
                let code = grants.redeem(
                    text,
                    app: client,
                    redirect: request["redirect_uri"],
                    verifier: request["code_verifier"]
                ), let person = community.person(code.person)
            else { throw apiError("invalid_grant", "Invalid code") }
            return issueToken(person, client, code.scopes, proof)
        case "refresh_token":
            guard let refresh = request["refresh_token"], bound.key(of: refresh) == proof.key,
                let grant = grants.renewal(refresh, once: true), grant.app == client,
                let person = grant.person.flatMap(community.person)
            else { throw apiError("invalid_grant", "Invalid refresh token") }
            return issueToken(person, client, grant.scopes, proof)
        default: throw apiError("unsupported_grant_type", "grant_type is not supported")
        }
    }

    private func issueToken(
        _ person: Person,
        _ client: String,
        _ scopes: Set<String>,
        _ proof: DPoPProof
    ) -> WebResponse {
        let (token, refresh) = ("tok-\(Base64URL.random(bytes: 32))", "ref-\(Base64URL.random(bytes: 32))")
        let end = clock.now + Double(Self.lifetime)
        grants.put(
            token,
            Grants.Grant(person: person.number, app: client, scopes: scopes, expiry: end, refresh: refresh)
        )
        for issued in [token, refresh] { bound.bind(issued, to: proof.key) }
        return .jsonValue([
            "access_token": .string(token), "token_type": "DPoP", "refresh_token": .string(refresh),
            "expires_in": .int(Self.lifetime), "scope": .string(scopes.sorted().joined(separator: " ")),
            "sub": .string(BlueskyNames.did(person)),
        ])
    }

    private func revoke(_ request: NetworkRequest, _ proof: DPoPProof) throws -> WebResponse {
        guard request["client_id"] != nil, let token = request["token"] else {
            throw apiError("invalid_request", "token is missing")
        }
        if bound.key(of: token) == proof.key { grants.revoke(token) }
        return .jsonValue([:])
    }
}
