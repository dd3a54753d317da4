import Foundation
import HTTPTypes
import SocialAPI
import Wire

extension RedditConnector: OAuthConnector {
    private static let scopes = "identity mysubreddits read privatemessages submit vote history"

    private var websiteURL: String { key.endpoint("WWW_URL", where: Self.defaultURL, "https://www.reddit.com") }

    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        let (id, _) = try key.registered()
        return Authorization(
            url: "\(websiteURL)/api/v1/authorize".adding([
                "client_id": id, "response_type": "code", "state": request.state, "redirect_uri": request.callback,
                "duration": "permanent", "scope": Self.scopes,
            ])
        )
    }

    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount {
        let code = try OAuth2.code(query)
        return AuthorizedAccount(
            tokens: try await tokens([
                "grant_type": "authorization_code", "code": code, "redirect_uri": request.callback,
            ])
        )
    }

    var renewal: TimeInterval? { 300 }

    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        guard let refresh = account.tokens.refresh else {
            throw NetworkError(.auth, "the token has expired and has no refresh token", code: "invalid_token")
        }
        return try await tokens(["grant_type": "refresh_token", "refresh_token": refresh])
    }

    func revoke(_ account: NetworkAccount) async throws {
        let (id, secret) = try key.registered()
        let token = account.tokens.refresh ?? account.tokens.access
        let kind = account.tokens.refresh == nil ? "access_token" : "refresh_token"
        _ = try await calls.send(
            Self.named(
                .form("\(websiteURL)/api/v1/revoke_token", ["token": token, "token_type_hint": kind]).basic(id, secret)
            )
        )
    }

    private func tokens(_ fields: KeyValuePairs<String, String?>) async throws -> NetworkTokens {
        let (id, secret) = try key.registered()
        let request = NetworkRequest.form("\(websiteURL)/api/v1/access_token", fields).basic(id, secret)
        do {
            let (json, _) = try await calls.json(Self.named(request))
            return try NetworkTokens(oauth: json, now: calls.now())
        } catch let error as NetworkError where error.code == "401" {
            // The secret of this deployment is wrong; the user's token may be valid.
            throw NetworkError(
                .permission,
                "Reddit rejected this deployment's client id or secret",
                code: "invalid_client"
            )
        } catch let error as NetworkError where error.code == "400" {
            // Reddit rejects an expired refresh token in this way.
            throw NetworkError(.auth, error.reason, code: "invalid_grant", budget: error.budget)
        }
    }
}
