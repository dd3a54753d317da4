import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// Tumblr's API 2, by OAuth 1.0a for tokens with a secret, else by OAuth 2.0.
///
/// A post's native id is `blog/number`, since it is found, liked and reblogged by both; liking needs its reblog key too,
/// which is asked for.
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

    /// The account is the user; posts go to the blog that the client named, otherwise to the user's primary blog.
    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        let (json, _) = try await send(.get("\(key.baseURL)/v2/user/info"), account)
        guard let user = json["user"], let name = user["name"]?.nonEmpty else {
            throw NetworkError(.transient, "Tumblr does not say who it is")
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

    /// What a blog is called: its name, the host of its address, and its id.
    private static func names(of blog: JSONValue) -> [String] {
        let name = blog["name"]?.nonEmpty
        return [name, name.map { "\($0).tumblr.com" }, blog["uuid"]?.nonEmpty].compactMap(\.self)
    }

    /// The dashboard has no place to go on from but a number of posts, and new ones shift that: so a position is the oldest
    /// post seen too, and what was shown already is left out.
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
            throw NetworkError(.transient, "Tumblr's answer is no list", budget: budget)
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
        // A page that holds only what was shown is not the end: the dashboard has moved on by that much. Nor is one that
        // holds nothing and leads on.
        let isOver = posts.isEmpty && json["_links"]?["next"] == nil
        let place = Position(offset: (position?.offset ?? 0) + posts.count, oldest: oldest ?? .max)
        let next = try isOver ? nil : NetworkCursor(place)
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
    /// What is in the envelope.
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
        guard let header else { throw NetworkError(.invalid, "the network's address is none") }
        return Self.named(request.with("Authorization", header))
    }

    /// Tumblr asks for a constant one.
    static func named(_ request: NetworkRequest) -> NetworkRequest { request.with("User-Agent", "Roost/1") }

    /// Counted are the hour and the day of the whole application; the nearer to its end says when to go on.
    static let errorMapping = NetworkErrorMapping(
        budget: { answer, now in
            let windows = ["perhour", "perday"].compactMap { window in
                answer.budget(
                    .application,
                    limit: "x-ratelimit-\(window)-limit",
                    remaining: "x-ratelimit-\(window)-remaining",
                    reset: "x-ratelimit-\(window)-reset",
                    as: { Double($0).map { now.addingTimeInterval($0) } }
                )
            }
            return windows.min { $0.remaining < $1.remaining }
        },
        mappedError: { answer in
            guard !answer.isSuccess else { return nil }
            if let code = answer.json?["error"]?.text {
                return .granting(code, answer.json?["error_description"]?.text)
            }
            let error = (answer.json?["errors"]).list.first
            let code = error?["code"]?.identifier
            let said = error?["detail"]?.text ?? error?["title"]?.text ?? answer.json?["meta"]?["msg"]?.text
            let kind: NetworkError.Class? =
                switch (code, answer.status) {
                // Caps of a day: posts, media, films.
                case ("8004", _), ("8011", _), ("8022", _), ("8023", _): .rateLimited(until: nil)
                case ("8001", _), ("8002", _), ("8005", _), ("8008", _), ("8016", _): .invalid
                // It said beforehand that it does nothing.
                case ("8006", _), ("8009", _), ("8010", _): .transient
                default: nil
                }
            guard let kind else { return .status(answer, said, code: code) }
            return MappedError(kind: kind, reason: said, code: code)
        }
    )
}
