import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// OAuth 1.0a with `TWITTER_API=1.1`, otherwise OAuth 2.0 with PKCE.
extension TwitterConnector: OAuthConnector {
    private static let scopes =
        "tweet.read tweet.write users.read dm.read dm.write like.read like.write media.write offline.access"

    private var isV1: Bool { key.others["API"] == "1.1" }

    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        guard isV1 else {
            let (id, _) = try key.registered()
            let page = key.endpoint("PAGE_URL", where: Self.defaultURL, "https://x.com")
            return Authorization(
                url: "\(page)/i/oauth2/authorize".adding([
                    "response_type": "code", "client_id": id, "redirect_uri": request.callback, "scope": Self.scopes,
                    "state": request.state, "code_challenge": OAuth2.challenge(request.verifier),
                    "code_challenge_method": "S256",
                ])
            )
        }
        let tokenRequest = try signed(
            NetworkRequest(.post, "\(key.baseURL)/oauth/request_token"),
            nil,
            adding: [FormField("oauth_callback", request.callbackWithState)]
        )
        let token = try await credentials(tokenRequest).token
        let page = "\(key.baseURL)/oauth/authorize".adding(["oauth_token": token.key])
        return Authorization(url: page, payload: ["token": token.key, "secret": token.secret])
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
                    "code_verifier": request.verifier,
                ])
            )
        }
        guard let verifier = query["oauth_verifier"], query["oauth_token"] == key else {
            throw NetworkError(
                .permission,
                "Twitter did not confirm that the user granted access; link the account again and allow access",
                code: "denied"
            )
        }
        let tokenRequest = try signed(
            NetworkRequest(.post, "\(self.key.baseURL)/oauth/access_token"),
            OAuth1Credentials(key: key, secret: secret),
            adding: [FormField("oauth_verifier", verifier)]
        )
        let (token, form) = try await credentials(tokenRequest)
        return AuthorizedAccount(
            tokens: NetworkTokens(access: token.key, secret: token.secret),
            id: form["user_id"],
            username: form["screen_name"]
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
        guard account.tokens.secret == nil else {
            _ = try await send(form: "\(key.baseURL)/1.1/oauth/invalidate_token.json", [:], account)
            return
        }
        let (id, secret) = try key.registered()
        let token = account.tokens.refresh ?? account.tokens.access
        _ = try await calls.send(
            .form("\(key.baseURL)/2/oauth2/revoke", ["token": token, "client_id": id]).basic(id, secret)
        )
    }

    private func tokens(_ fields: KeyValuePairs<String, String?>) async throws -> NetworkTokens {
        let (id, secret) = try key.registered()
        var form = [FormField](fields)
        form.append(FormField("client_id", id))
        let request = NetworkRequest.form("\(key.baseURL)/2/oauth2/token", form)
        do {
            let (json, _) = try await calls.json(secret.isEmpty ? request : request.basic(id, secret))
            return try NetworkTokens(oauth: json, now: calls.now())
        } catch let error as NetworkError where error.kind == .invalid && error.code == "invalid_request" {
            // Twitter rejects a refresh token that was already used in this way.
            throw NetworkError(.auth, error.reason, code: error.code)
        }
    }

    /// Sends a request of OAuth 1.0a, to which the network responds with a form.
    private func credentials(_ request: NetworkRequest) async throws -> (token: OAuth1Credentials, form: [FormField]) {
        let response = try await calls.send(request)
        let form = FormField.parse(response.text)
        guard let token = OAuth1Credentials(form: form) else {
            throw NetworkError(.transient, "the network's response has no token")
        }
        return (token, form)
    }
}
