import Foundation
import HTTPTypes
import SocialAPI
import Wire

extension FacebookConnector: OAuthConnector {
    private static let pageScopes =
        "pages_show_list,pages_read_engagement,pages_read_user_content,pages_manage_posts,pages_manage_engagement,"
        + "pages_manage_metadata,pages_messaging"
    private static let personalScopes =
        "public_profile,read_stream,read_mailbox,manage_notifications,publish_actions"

    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        let (id, _) = try key.registered()
        let page = graph.base.replacing(
            key.baseURL,
            with: key.endpoint("PAGE_URL", where: Self.defaultURL, "https://www.facebook.com"),
            maxReplacements: 1
        )
        return Authorization(
            url: "\(page)/dialog/oauth".adding([
                "client_id": id, "redirect_uri": request.callback, "state": request.state, "response_type": "code",
                "scope": isPersonal ? Self.personalScopes : Self.pageScopes,
            ])
        )
    }

    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount {
        let code = try OAuth2.code(query)
        return AuthorizedAccount(tokens: try await tokens(["redirect_uri": request.callback, "code": code]))
    }

    /// Tokens are renewed before they expire, because an expired token cannot be renewed.
    var renewal: TimeInterval? { 14 * 86_400 }

    func canRenew(_ account: NetworkAccount) -> Bool { true }

    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        try await tokens(["grant_type": "fb_exchange_token", "fb_exchange_token": account.tokens.access])
    }

    func revoke(_ account: NetworkAccount) async throws {
        guard isPersonal else { return }
        let url = "\(graph.base)/me/permissions".adding(graph.proof(of: account.tokens.access))
        _ = try await graph.write(NetworkRequest(.delete, url), account.tokens.access, isWrite: false)
    }

    /// Returns a longer-lived token; nil if this deployment is not registered, and therefore cannot exchange tokens.
    func extended(_ tokens: NetworkTokens) async throws -> NetworkTokens? {
        guard key.id != nil, key.secret != nil else { return nil }
        do {
            return try await self.tokens(["grant_type": "fb_exchange_token", "fb_exchange_token": tokens.access])
        } catch let error as NetworkError where [.invalid, .permission, .unsupported].contains(error.kind) {
            // The token is not one of this application, or is a page's token, and is used as it is.
            return nil
        }
    }

    private func tokens(_ fields: KeyValuePairs<String, String?>) async throws -> NetworkTokens {
        let (id, secret) = try key.registered()
        let url = "\(graph.base)/oauth/access_token".adding(["client_id": id, "client_secret": secret]).adding(fields)
        let (json, _) = try await graph.calls.json(.get(url))
        return try NetworkTokens(oauth: json, now: graph.calls.now())
    }
}
