import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// The connector of Reddit's Data API: front page, inbox, posts to the own profile, votes and followed users.
struct RedditConnector: Connector, FollowsConnector {
    let network = Network.reddit
    let key: ApplicationKey
    let calls: NetworkCalls

    static let defaultURL = "https://oauth.reddit.com"
    /// The user agent; Reddit slows down clients that do not identify themselves.
    private static let agent = "server:roost:1 (social backend)"

    init(_ parts: ConnectorParts) {
        key = parts.key
        calls = NetworkCalls(parts, Self.errorMapping)
    }

    /// A listing continues after an item's full name; `count` is the number of items before it.
    private struct Position: Codable {
        var after: String
        var count: Int
    }

    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        let (me, _) = try await read("/api/v1/me", [:], account)
        guard let name = me["name"]?.nonEmpty else {
            throw NetworkError(.transient, "Reddit did not identify the account")
        }
        let id = me["id"]?.nonEmpty.map { "t2_\($0)" } ?? name
        return NetworkIdentity(
            id: id,
            username: name,
            name: me["subreddit"]?["title"]?.nonEmpty,
            avatarUrl: (me["snoovatar_img"]?.link ?? me["icon_img"]?.link).map(PlainText.unescaped),
            aliases: ["u/\(name)", me["id"]?.nonEmpty].compactMap(\.self)
        )
    }

    /// The API's paths require the user name, which clients do not send.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.username != nil }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = RedditItems(page: page, me: account.username)
        // Sorted by time, because the front page's own order cannot be merged.
        return try await list("/new", page, account) { parser.post($0).map { NetworkItem($0) } }
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = RedditItems(page: page, me: account.username)
        return try await list("/message/messages", page, account, ["mark": "false"]) {
            parser.thread($0).map { NetworkItem($0) }
        }
    }

    /// Returns messages of a thread; Reddit returns the whole thread in one response.
    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let (json, budget) = try await conversation(thread, account)
        let parser = RedditItems(page: page, me: account.username)
        let position = try page.position(Position.self)
        let all = parser.messages(json, in: thread)
        let rest =
            position.flatMap { position in all.firstIndex { $0.id.native == position.after } }
            .map { all[($0 + 1)...] } ?? (position == nil ? all[...] : [])
        let shown = rest.prefix(max(page.limit, 1))
        let next = shown.count < rest.count ? shown.last : nil
        return NetworkPage(
            shown.map { NetworkItem($0) },
            next: try next.map { try NetworkCursor(Position(after: $0.id.native, count: 0)) },
            budget: budget
        )
    }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = RedditItems(page: page, me: account.username)
        return try await list("/message/inbox", page, account, ["mark": "false"]) {
            parser.notification($0).map { NetworkItem($0) }
        }
    }

    /// Returns the users that an account follows: subscribed subreddits that are profiles, without communities.
    ///
    /// Users without an icon are skipped, because deleted users have none.
    func follows(_ page: PageRequest, as account: NetworkAccount) async throws -> FollowsPage {
        let position = try page.position(Position.self)
        let (json, budget) = try await listing("/subreddits/mine/subscriber", page, position, account, [:])
        let people = (json["data"]?["children"]).list.compactMap { child -> FollowsPage.Person? in
            guard let data = child["data"], data["subreddit_type"]?.text == "user",
                let name = data["display_name"]?.text, name.hasPrefix("u_"), name.count > 2,
                let icon = data["icon_img"]?.link
            else { return nil }
            return FollowsPage.Person(username: String(name.dropFirst(2)), iconUrl: PlainText.unescaped(icon))
        }
        return FollowsPage(people: people, next: try Self.next(json, position), budget: budget)
    }
}

extension RedditConnector {
    private func list(
        _ path: String,
        _ page: PageRequest,
        _ account: NetworkAccount,
        _ fields: [String: String] = [:],
        _ item: (JSONValue) -> NetworkItem?
    ) async throws -> NetworkPage {
        let position = try page.position(Position.self)
        let (json, budget) = try await listing(path, page, position, account, fields)
        guard case .array(let children)? = json["data"]?["children"] else {
            throw NetworkError(.transient, "Reddit's response is not a listing", budget: budget)
        }
        return NetworkPage(children.compactMap(item), next: try Self.next(json, position), budget: budget)
    }

    private func listing(
        _ path: String,
        _ page: PageRequest,
        _ position: Position?,
        _ account: NetworkAccount,
        _ fields: [String: String]
    ) async throws -> (json: JSONValue, budget: Budget?) {
        var query = fields
        query["limit"] = page.limit(100)
        query["after"] = position?.after
        query["count"] = position.map { String($0.count) }
        return try await read(path, query, account)
    }

    private static func next(_ json: JSONValue, _ position: Position?) throws -> NetworkCursor? {
        let count = (json["data"]?["children"]).list.count
        let nextName = json["data"]?["after"]?.nonEmpty
        guard let after = ListCursor.next(nextName, after: position?.after, isEmpty: count == 0) else { return nil }
        return try NetworkCursor(Position(after: after, count: (position?.count ?? 0) + count))
    }

    /// Returns a thread of private messages, by the full name of its first message.
    func conversation(_ thread: String, _ account: NetworkAccount) async throws -> (json: JSONValue, budget: Budget?) {
        let id = thread.hasPrefix("t4_") ? String(thread.dropFirst(3)) : thread
        let (json, budget) = try await read("/message/messages/\(id.pathSegment)", ["mark": "false"], account)
        guard let first = (json["data"]?["children"]).list.first else {
            throw NetworkError(.notFound, "there is no such thread", budget: budget)
        }
        return (first, budget)
    }

    func read(
        _ path: String,
        _ query: [String: String],
        _ account: NetworkAccount
    ) async throws -> (json: JSONValue, budget: Budget?) {
        var fields = query
        // Otherwise Reddit escapes `<`, `>` and `&`, even in URLs.
        fields["raw_json"] = "1"
        let url = (key.baseURL + path).adding(fields.sorted { $0.key < $1.key }.map { FormField($0.key, $0.value) })
        return try await calls.json(signed(NetworkRequest(.get, url), account))
    }

    func signed(_ request: NetworkRequest, _ account: NetworkAccount) -> NetworkRequest {
        Self.named(request.bearer(account.tokens.access))
    }

    static func named(_ request: NetworkRequest) -> NetworkRequest { request.with("User-Agent", agent) }

    /// Errors of forms are successes with a list of errors; the response to too many requests is an HTML page.
    static let errorMapping = NetworkErrorMapping(
        budget: { response, now in
            var budget = response.budget(
                .account,
                limit: "",
                remaining: "x-ratelimit-remaining",
                reset: "x-ratelimit-reset",
                as: { Double($0).map { now.addingTimeInterval($0) } }
            )
            let used = response.header("x-ratelimit-used").flatMap(Double.init)
            if let used, let remaining = budget?.remaining { budget?.limit = remaining + used }
            return budget
        },
        mappedError: { response in
            if let error = (response.json?["json"]?["errors"]).list.first {
                return mappedError(error, waiting: response.json?["json"]?["ratelimit"]?.double)
            }
            // The token endpoint reports errors with status 200 and a name.
            if let code = response.json?["error"]?.text { return .tokenEndpoint(code, response.json?["message"]?.text) }
            // `message` is the text of the status.
            let message = response.json?["explanation"]?.nonEmpty ?? response.json?["message"]?.text
            return .status(response, message, code: response.json?["reason"]?.text)
        }
    )

    /// Returns the error for `[name, message, field]`.
    private static func mappedError(_ error: JSONValue, waiting seconds: Double?) -> MappedError {
        let code = error.list.first?.text ?? ""
        let message = error.list.dropFirst().first?.text
        let kind: NetworkError.Class =
            switch code {
            case "RATELIMIT": .rateLimited(until: nil)
            case "USER_REQUIRED": .auth
            case "SUBREDDIT_NOTALLOWED", "USER_BLOCKED", "NOT_WHITELISTED_BY_USER_MESSAGE": .permission
            case "DELETED_COMMENT", "DELETED_LINK", "THREAD_LOCKED", "SUBREDDIT_NOEXIST": .notFound
            default: .invalid
            }
        return MappedError(
            kind: kind,
            reason: message,
            code: code,
            wait: kind == .rateLimited(until: nil) ? seconds : nil
        )
    }
}

extension MappedError {
    /// Returns the error of a token endpoint (RFC 6749, section 5.2).
    static func tokenEndpoint(_ code: String, _ reason: String?) -> MappedError {
        let kind: NetworkError.Class =
            switch code {
            case "invalid_grant", "invalid_token", "access_denied": .auth
            case "invalid_client", "unauthorized_client": .permission
            case "temporarily_unavailable", "server_error": .transient
            default: .invalid
            }
        return MappedError(kind: kind, reason: reason, code: code)
    }
}
