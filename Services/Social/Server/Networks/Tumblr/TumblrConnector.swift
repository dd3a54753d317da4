import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// The connector of Tumblr's API 2, with OAuth 1.0a for tokens with a secret, and otherwise OAuth 2.0.
///
/// A post's native id is `blog/number`, because all calls need both. A like also needs the post's reblog key, which is
/// requested first.
struct TumblrConnector: Connector {
    let network = Network.tumblr
    let key: ApplicationKey
    let calls: NetworkCalls
    private let nonce: @Sendable () -> String

    static let defaultURL = "https://api.tumblr.com"

    init(_ parts: ConnectorParts, nonce: @escaping @Sendable () -> String = { OAuth1Signer.randomNonce() }) {
        key = parts.key
        calls = NetworkCalls(parts, Self.errorMapping)
        self.nonce = nonce
    }

    /// Identifies the user.
    ///
    /// Posts go to the blog that the client named, otherwise to the user's primary blog.
    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        let (json, _) = try await send(.get("\(key.baseURL)/v2/user/info"), account)
        guard let user = json["user"], let name = user["name"]?.nonEmpty else {
            throw NetworkError(.transient, "Tumblr did not identify the account")
        }
        let blogs = user["blogs"].list
        let named = blogs.first { blog in
            guard let wanted = account.id, let blogName = blog["name"]?.nonEmpty else { return false }
            return NetworkIdentity(id: blogName, aliases: Self.names(of: blog)).matches(wanted)
        }
        let blog = named ?? blogs.first { $0["primary"]?.flag == true } ?? blogs.first
        return NetworkIdentity(
            id: blog?["uuid"]?.nonEmpty ?? name,
            username: name,
            name: blog?["title"]?.nonEmpty,
            details: ["blog": blog?["name"]?.nonEmpty ?? name],
            aliases: blogs.flatMap(Self.names)
        )
    }

    /// Returns the names of a blog: its name, the host of its URL, and its id.
    private static func names(of blog: JSONValue) -> [String] {
        let name = blog["name"]?.nonEmpty
        return [name, name.map { "\($0).tumblr.com" }, blog["uuid"]?.nonEmpty].compactMap(\.self)
    }

    /// The dashboard only has numeric offsets, which new posts shift.
    ///
    /// A position therefore also has the oldest post seen, so that posts which were already shown are skipped.
    private struct Position: Codable {
        var offset: Int
        var oldest: Int64
    }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let position = try page.position(Position.self)
        let url = "\(key.baseURL)/v2/user/dashboard".adding([
            "limit": page.limit(20), "offset": position.map { String($0.offset) }, "npf": "true", "reblog_info": "true",
            "notes_info": "true",
        ])
        let (json, budget) = try await send(.get(url), account)
        guard case .array(let posts)? = json["posts"] else {
            throw NetworkError(.transient, "Tumblr's response is not a list", budget: budget)
        }
        let parser = TumblrItems(page: page)
        func number(_ post: JSONValue) -> Int64? {
            (post["id_string"]?.identifier ?? post["id"]?.identifier).flatMap { Int64($0) }
        }
        let fresh = posts.filter { post in
            guard let position, let number = number(post) else { return true }
            return number < position.oldest
        }
        let oldest = fresh.compactMap(number).min() ?? position?.oldest
        // A page of posts that were already shown is not the end: new posts have shifted the dashboard. An empty page
        // with a next link is not the end either.
        let isOver = posts.isEmpty && json["_links"]?["next"] == nil
        let nextPosition = Position(offset: (position?.offset ?? 0) + posts.count, oldest: oldest ?? .max)
        let next = try isOver ? nil : NetworkCursor(nextPosition)
        return NetworkPage(fresh.compactMap(parser.post), next: next, budget: budget)
    }

    private struct Activity: Codable { var before: String }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let position = try page.position(Activity.self)
        let url = "\(key.baseURL)/v2/blog/\(blog(account).pathSegment)/notifications".adding([
            "before": position?.before
        ])
        let (json, budget) = try await send(.get(url), account)
        let parser = TumblrItems(page: page)
        let values = json["notifications"].list
        let next = json["_links"]?["next"]?["query_params"]?["before"]?.identifier
        return NetworkPage(
            values.compactMap {
                parser.notification($0, to: blog(account)).map { NetworkItem($0) }
            },
            next: try ListCursor.next(next, after: position?.before, isEmpty: values.isEmpty)
                .map { try NetworkCursor(Activity(before: $0)) },
            budget: budget
        )
    }

    func blog(_ account: NetworkAccount) -> String { account.details["blog"] ?? account.username ?? account.id ?? "" }
}

extension TumblrConnector {
    /// Sends a request; returns the content of the response's envelope.
    func send(
        _ request: NetworkRequest,
        _ account: NetworkAccount,
        form: [FormField] = [],
        isWrite: Bool = false
    ) async throws -> (json: JSONValue, budget: Budget?) {
        let (json, budget) = try await calls.json(try signed(request, account, form: form), isWrite: isWrite)
        return (json["response"] ?? .null, budget)
    }

    func signed(_ request: NetworkRequest, _ account: NetworkAccount, form: [FormField] = []) throws -> NetworkRequest {
        guard let secret = account.tokens.secret else { return Self.named(request.bearer(account.tokens.access)) }
        return try signed(request, OAuth1Credentials(key: account.tokens.access, secret: secret), form: form)
    }

    func signed(
        _ request: NetworkRequest,
        _ token: OAuth1Credentials?,
        form: [FormField] = [],
        adding fields: [FormField] = []
    ) throws -> NetworkRequest {
        let (id, secret) = try key.registered()
        let header = OAuth1Signer(client: OAuth1Credentials(key: id, secret: secret), token: token).authorization(
            request.method.rawValue,
            request.url,
            form: form,
            adding: fields,
            nonce: nonce(),
            time: calls.now()
        )
        guard let header else { throw NetworkError(.invalid, "the network's URL is not valid") }
        return Self.named(request.with("Authorization", header))
    }

    /// Adds a user agent, which Tumblr wants to be constant.
    static func named(_ request: NetworkRequest) -> NetworkRequest { request.with("User-Agent", "Roost/1") }

    /// Limits count requests of the whole application per hour and per day; the one with fewer remaining requests is
    /// used.
    static let errorMapping = NetworkErrorMapping(
        budget: { response, now in
            let windows = ["perhour", "perday"].compactMap { window in
                response.budget(
                    .application,
                    limit: "x-ratelimit-\(window)-limit",
                    remaining: "x-ratelimit-\(window)-remaining",
                    reset: "x-ratelimit-\(window)-reset",
                    as: { Double($0).map { now.addingTimeInterval($0) } }
                )
            }
            return windows.min { $0.remaining < $1.remaining }
        },
        mappedError: { response in
            guard !response.isSuccess else { return nil }
            if let code = response.json?["error"]?.text {
                return .tokenEndpoint(code, response.json?["error_description"]?.text)
            }
            let error = (response.json?["errors"]).list.first
            let code = error?["code"]?.identifier
            let message = error?["detail"]?.text ?? error?["title"]?.text ?? response.json?["meta"]?["msg"]?.text
            let kind: NetworkError.Class? =
                switch (code, response.status) {
                // Daily limits of posts, photos and videos.
                case ("8004", _), ("8011", _), ("8022", _), ("8023", _): .rateLimited(until: nil)
                case ("8001", _), ("8002", _), ("8005", _), ("8008", _), ("8016", _): .invalid
                // Tumblr rejected the request before it had an effect.
                case ("8006", _), ("8009", _), ("8010", _): .transient
                default: nil
                }
            guard let kind else { return .status(response, message, code: code) }
            return MappedError(kind: kind, reason: message, code: code)
        }
    )
}
