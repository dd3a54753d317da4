import Foundation
import SocialAPI
import Wire

extension MastodonConnector: OAuthConnector {
    private static let scopes = "read write"

    /// Registers an application with the instance each time: otherwise a table of foreign servers would be necessary.
    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        guard let instance = request.instance else { throw NetworkError(.invalid, "an instance must be named") }
        let (client, _) = try await calls.json(
            .form(
                "\(instance)/api/v1/apps",
                ["client_name": "Roost", "redirect_uris": request.callback, "scopes": Self.scopes]
            )
        )
        guard let id = client["client_id"]?.nonEmpty, let secret = client["client_secret"]?.nonEmpty else {
            throw NetworkError(.transient, "the instance did not register the application")
        }
        let page = "\(instance)/oauth/authorize".adding([
            "response_type": "code", "client_id": id, "redirect_uri": request.callback, "scope": Self.scopes,
            "state": request.state, "code_challenge": OAuth2.challenge(request.verifier),
            "code_challenge_method": "S256",
        ])
        return Authorization(url: page, payload: ["client_id": id, "client_secret": secret])
    }

    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount {
        let code = try OAuth2.code(query)
        let (json, _) = try await calls.json(
            .form(
                "\(request.instance ?? "")/oauth/token",
                [
                    "grant_type": "authorization_code", "code": code, "redirect_uri": request.callback,
                    "client_id": authorization.payload["client_id"],
                    "client_secret": authorization.payload["client_secret"], "code_verifier": request.verifier,
                ]
            )
        )
        var tokens = try NetworkTokens(oauth: json, now: calls.now())
        tokens.others = authorization.payload
        return AuthorizedAccount(tokens: tokens)
    }

    /// Revokes the token, which needs the client's secret; only the owner can revoke a token that a client has sent.
    func revoke(_ account: NetworkAccount) async throws {
        guard let others = account.tokens.others, let id = others["client_id"], let secret = others["client_secret"]
        else { return }
        _ = try await calls.send(
            .form(
                at("/oauth/revoke", account),
                ["client_id": id, "client_secret": secret, "token": account.tokens.access]
            )
        )
    }
}
