import Foundation
import SocialAPI
import Wire

extension InstagramConnector: OAuthConnector {
    private static let scopes =
        "instagram_business_basic,instagram_business_content_publish,instagram_business_manage_comments,"
        + "instagram_business_manage_messages"

    private var tokenURL: String { key.endpoint("TOKEN_URL", where: Self.defaultURL, "https://api.instagram.com") }

    func authorize(_ request: AuthorizationRequest) async throws -> Authorization {
        let (id, _) = try key.registered()
        let page = key.endpoint("PAGE_URL", where: Self.defaultURL, "https://www.instagram.com")
        return Authorization(
            url: "\(page)/oauth/authorize".adding([
                "client_id": id, "redirect_uri": request.callback, "response_type": "code", "state": request.state,
                "scope": isV1 ? "basic comments relationships likes" : Self.scopes,
            ])
        )
    }

    /// Exchanges the code for a token that is valid for an hour; `identify` exchanges that for one of 60 days.
    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount {
        let (id, secret) = try key.registered()
        // The consent page appends a fragment to the code.
        let code = try OAuth2.code(query).split(separator: "#").first.map(String.init)
        let (json, _) = try await graph.calls.json(
            .form(
                "\(tokenURL)/oauth/access_token",
                [
                    "client_id": id, "client_secret": secret, "grant_type": "authorization_code", "code": code,
                    "redirect_uri": request.callback,
                ]
            )
        )
        let granted = json["data"].list.first ?? json
        return AuthorizedAccount(
            tokens: try NetworkTokens(oauth: granted, now: graph.calls.now()),
            id: (granted["user_id"] ?? granted["user"]?["id"])?.identifier,
            username: granted["user"]?["username"]?.text
        )
    }

    /// Only a token that has not expired can be renewed, for another 60 days; tokens of v1 do not expire.
    var renewal: TimeInterval? { isV1 ? nil : 14 * 86_400 }

    func canRenew(_ account: NetworkAccount) -> Bool { !isV1 }

    func renew(_ account: NetworkAccount) async throws -> NetworkTokens {
        guard !isV1 else { throw NetworkError(.auth, "the token has expired", code: "OAuthAccessTokenException") }
        let (json, _) = try await graph.calls.json(
            .get(
                "\(key.baseURL)/refresh_access_token",
                ["grant_type": "ig_refresh_token", "access_token": account.tokens.access]
            )
        )
        return try NetworkTokens(oauth: json, now: graph.calls.now())
    }

    /// Returns a long-lived token; nil if the token is one already, or belongs to another application.
    func extended(_ tokens: NetworkTokens) async throws -> NetworkTokens? {
        guard let secret = key.secret, !secret.isEmpty else { return nil }
        do {
            let (json, _) = try await graph.calls.json(
                .get(
                    "\(key.baseURL)/access_token",
                    ["grant_type": "ig_exchange_token", "client_secret": secret, "access_token": tokens.access]
                )
            )
            return try NetworkTokens(oauth: json, now: graph.calls.now())
        } catch let error as NetworkError where [.invalid, .permission, .unsupported, .notFound].contains(error.kind) {
            return nil
        }
    }
}

extension InstagramConnector: WebhookConnector {
    func handshake(_ query: [String: String]) throws -> WebhookHandshakeResponse {
        try MetaWebhooks.handshake(query, key)
    }

    /// Subscribes to an account's events; the v1 API reports those of all its users without a subscription.
    func subscribe(_ account: NetworkAccount) async throws {
        guard !isV1 else { return }
        try await graph.subscribe("me", to: "comments,messages", account.tokens.access)
    }

    func unsubscribe(_ account: NetworkAccount) async throws {
        guard !isV1 else { return }
        try await graph.unsubscribe("me", account.tokens.access)
    }

    func events(of delivery: WebhookDelivery) throws -> WebhookEvents {
        let json = try MetaWebhooks.body(of: delivery, key)
        // Webhooks of the v1 API only say that a user has new media.
        let pings = json.list.compactMap { ping in
            ping["object_id"]?.identifier.map { NetworkEvent(account: $0, list: .feed, change: .ping) }
        }
        let entries = json["entry"].list
        let events = entries.flatMap { entry -> [NetworkEvent] in
            guard let account = entry["id"]?.identifier else { return [] }
            return entry["messaging"].list.compactMap { MetaWebhooks.message($0, to: account, of: .instagram) }
                + entry["changes"].list.compactMap { comment($0, of: account, at: entry["time"]?.epoch) }
        }
        let times = entries.compactMap { $0["time"]?.epoch } + json.list.compactMap { $0["time"]?.epoch }
        return WebhookEvents(events: pings + events, at: times.max())
    }

    private func comment(_ json: JSONValue, of account: String, at: Date?) -> NetworkEvent? {
        guard ["comments", "live_comments", "mentions"].contains(json["field"]?.text ?? ""), let value = json["value"],
            let id = (value["id"] ?? value["comment_id"] ?? value["media_id"])?.identifier
        else { return nil }
        let by = value["from"]
        guard by?["id"]?.identifier != account else { return nil }
        let medium = (value["media"]?["id"] ?? value["media_id"])?.identifier
        let item = Item(
            id: ItemID(.instagram, "comment/\(id)"),
            kind: json["field"]?.text == "mentions" ? .mention : .comment,
            author: by?["id"]?.identifier.map {
                ItemAuthor(id: $0, name: by?["username"]?.nonEmpty ?? $0, username: by?["username"]?.nonEmpty)
            },
            text: value["text"]?.text ?? "",
            createdAt: at ?? graph.calls.now(),
            about: medium.map { ItemReference(id: ItemID(.instagram, $0)) }
        )
        return NetworkEvent(account: account, list: .notifications, change: .created(NetworkItem(item)))
    }
}
