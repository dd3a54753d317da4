import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// OAuth 2.0, or OAuth 1.0a with `TUMBLR_API=1`, whose tokens do not expire.
extension TumblrConnector: OAuthConnector {
    private var websiteURL: String { key.endpoint("WWW_URL", where: Self.defaultURL, "https://www.tumblr.com") }

    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        let (id, _) = try key.registered()
        guard key.others["API"] == "1" else {
            return Authorization(
                url: "\(websiteURL)/oauth2/authorize".adding([
                    "client_id": id, "response_type": "code", "scope": "basic write offline_access",
                    "state": request.state, "redirect_uri": request.callback,
                ])
            )
        }
        let token = try await credentials(
            "\(websiteURL)/oauth/request_token",
            nil,
            adding: FormField("oauth_callback", request.callbackWithState)
        )
        return Authorization(
            url: "\(websiteURL)/oauth/authorize".adding(["oauth_token": token.key]),
            payload: ["token": token.key, "secret": token.secret]
        )
    }

    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount {
        guard let key = authorization.payload["token"], let secret = authorization.payload["secret"] else {
            let code = try OAuth2.code(query)
            return AuthorizedAccount(
                tokens: try await tokens([
                    "grant_type": "authorization_code", "code": code, "redirect_uri": request.callback,
                ])
            )
        }
        guard let verifier = query["oauth_verifier"], query["oauth_token"] == key else {
            throw NetworkError(
                .permission,
                "Tumblr did not confirm that the user granted access; link the account again and allow access",
                code: "denied"
            )
        }
        let token = try await credentials(
            "\(websiteURL)/oauth/access_token",
            OAuth1Credentials(key: key, secret: secret),
            adding: FormField("oauth_verifier", verifier)
        )
        return AuthorizedAccount(tokens: NetworkTokens(access: token.key, secret: token.secret))
    }

    var renewal: TimeInterval? { 300 }

    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        guard let refresh = account.tokens.refresh else {
            throw NetworkError(.auth, "the token has expired and has no refresh token", code: "invalid_token")
        }
        return try await tokens(["grant_type": "refresh_token", "refresh_token": refresh])
    }

    private func tokens(_ fields: KeyValuePairs<String, String?>) async throws -> NetworkTokens {
        let (id, secret) = try key.registered()
        let form = [FormField](fields) + [FormField("client_id", id), FormField("client_secret", secret)]
        let (json, _) = try await calls.json(Self.named(.form("\(key.baseURL)/v2/oauth2/token", form)))
        return try NetworkTokens(oauth: json, now: calls.now())
    }

    private func credentials(
        _ url: String,
        _ token: OAuth1Credentials?,
        adding field: FormField
    ) async throws -> OAuth1Credentials {
        let response = try await calls.send(try signed(NetworkRequest(.post, url), token, adding: [field]))
        guard let token = OAuth1Credentials(form: FormField.parse(response.text)) else {
            throw NetworkError(.transient, "Tumblr's response has no token")
        }
        return token
    }
}
