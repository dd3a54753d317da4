import Foundation
import OAuth1
import SocialAPI
import Wire

/// The AT Protocol's OAuth: pushed authorization requests, and tokens that are bound to a key (DPoP).
extension BlueskyConnector: OAuthConnector {
    private var directory: BlueskyDirectory {
        BlueskyDirectory(
            calls: calls,
            resolver: key.baseURL,
            register: key.endpoint("PLC_URL", where: Self.defaultURL, "https://plc.directory")
        )
    }

    func clientMetadata(callback: String) throws -> JSONValue? {
        try BlueskyOAuthClient(callback: callback, key).metadata
    }

    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        let client = try BlueskyOAuthClient(callback: request.callback, key)
        let identity = try await identity(request)
        let server = try await directory.server(of: identity?.pds ?? request.instance ?? key.baseURL)
        let bound = DPoPKey()
        let form = [FormField]([
            "response_type": "code", "redirect_uri": request.callback, "scope": BlueskyOAuthClient.scopes,
            "state": request.state, "code_challenge": OAuth2.challenge(request.verifier),
            "code_challenge_method": "S256", "login_hint": identity?.handle ?? identity?.did,
        ])
        let clientFields = try client.fields(for: server.issuer, now: calls.now())
        let (pushed, _) = try await calls(by: bound).json(.form(server.pushing, clientFields + form))
        guard let requestURI = pushed["request_uri"]?.nonEmpty else {
            throw NetworkError(.transient, "the account's server returned no request URI")
        }
        let payload = ["key": bound.text, "issuer": server.issuer, "did": identity?.did].compactMapValues { $0 }
        return Authorization(
            url: server.page.adding(["client_id": client.id, "request_uri": requestURI]),
            payload: payload
        )
    }

    private func identity(_ request: AuthorizationRequest) async throws -> BlueskyIdentity? {
        guard let id = request.id else { return nil }
        return try await directory.identity(of: id)
    }

    /// Exchanges a code for tokens.
    ///
    /// The token response names the account. The account's own document must name this server as its issuer; otherwise
    /// any server could grant access to any account.
    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount {
        let code = try OAuth2.code(query)
        guard let issuer = authorization.payload["issuer"], query["iss"] == issuer,
            let bound = authorization.payload["key"].flatMap(DPoPKey.init(text:))
        else { throw NetworkError(.permission, "the response is not from the account's server", code: "iss") }
        let client = try BlueskyOAuthClient(callback: request.callback, key)
        let server = try await directory.server(issuer: issuer)
        let form = [FormField]([
            "grant_type": "authorization_code", "code": code, "redirect_uri": request.callback,
            "code_verifier": request.verifier,
        ])
        let (json, _) = try await calls(by: bound)
            .json(.form(server.tokens, try client.fields(for: issuer, now: calls.now()) + form))
        guard let did = json["sub"]?.nonEmpty, authorization.payload["did"].map({ $0 == did }) ?? true else {
            throw NetworkError(.permission, "access was granted to a different account", code: "sub")
        }
        let identity = try await directory.identity(of: did)
        guard try await directory.server(of: identity.pds).issuer == issuer else {
            throw NetworkError(.permission, "the server is not the account's authorization server", code: "iss")
        }
        var tokens = try Self.tokens(granted: json, now: calls.now())
        tokens.others = ["dpop": bound.text]
        let details = [
            "pds": identity.pds, "issuer": issuer, "tokens": server.tokens, "revocation": server.revocation,
            "callback": request.callback, "scope": json["scope"]?.text ?? "",
        ]
        return AuthorizedAccount(
            tokens: tokens,
            id: did,
            username: identity.handle,
            details: details.compactMapValues { $0 }
        )
    }

    // MARK: Accounts linked with OAuth

    /// Returns the HTTP calls for an account, with its DPoP key if its tokens are bound to a key.
    func calls(of account: NetworkAccount) -> NetworkCalls {
        Self.key(of: account).map { calls(by: $0, token: account.tokens.access) } ?? calls
    }

    static func key(of account: NetworkAccount) -> DPoPKey? {
        account.tokens.others?["dpop"].flatMap(DPoPKey.init(text:))
    }

    /// Renews tokens that are bound to a key; the key stays the same.
    func renewed(_ account: NetworkAccount, _ bound: DPoPKey) async throws -> NetworkTokens {
        guard let refresh = account.tokens.refresh else {
            throw NetworkError(.auth, "the grant has expired", code: "invalid_grant")
        }
        let (json, _) = try await post(
            account,
            bound,
            at: "tokens",
            ["grant_type": "refresh_token", "refresh_token": refresh]
        )
        return try Self.tokens(granted: json, now: calls.now())
    }

    func revoke(_ account: NetworkAccount, _ bound: DPoPKey) async throws {
        guard account.details["revocation"] != nil else { return }
        _ = try await post(account, bound, at: "revocation", ["token": account.tokens.refresh ?? account.tokens.access])
    }

    private func post(
        _ account: NetworkAccount,
        _ bound: DPoPKey,
        at endpoint: String,
        _ form: KeyValuePairs<String, String?>
    ) async throws -> (json: JSONValue, budget: Budget?) {
        guard let url = account.details[endpoint], let issuer = account.details["issuer"],
            let callback = account.details["callback"]
        else { throw NetworkError(.auth, "the account's authorization server is unknown", code: "invalid_grant") }
        let client = try BlueskyOAuthClient(callback: callback, key)
        let clientFields = try client.fields(for: issuer, now: calls.now())
        let response = try await calls(by: bound).send(.form(url, clientFields + [FormField](form)))
        return (response.json ?? .null, response.budget)
    }

    private func calls(by bound: DPoPKey, token: String? = nil) -> NetworkCalls {
        calls.over(DPoPHTTP(http: calls.http, key: bound, token: token, nonces: nonces, now: calls.now))
    }

    private static func tokens(granted json: JSONValue, now: Date) throws -> NetworkTokens {
        guard json["token_type"]?.text?.lowercased() == "dpop" else {
            throw NetworkError(.transient, "the account's server returned tokens that are not bound to a key")
        }
        return try NetworkTokens(oauth: json, now: now)
    }
}
