import Foundation
import NIOHTTP1
import Wire

/// API v2: pages by tokens, with referenced objects in `includes`.
extension Twitter {
    func v2(_ request: NetworkRequest, _ path: [String], by caller: Caller) throws -> WebResponse? {
        let view = TwitterView(community: community, origin: request.origin, viewer: caller.person)
        switch (request.method, path.first ?? "", path.count) {
        case (.GET, "users", 2) where path[1] == "me":
            try requireScope("users.read", caller)
            let wantsEmail = request["user.fields"]?.contains("confirmed_email") ?? false
            let email = wantsEmail && caller.scopes.contains("users.email")
            let address: JSONValue = .string("\(caller.person.name)@example.org")
            return .jsonValue(["data": view.userV2(caller.person).with(email ? ["confirmed_email": address] : [:])])
        case (_, "users", 3...): return try ofUser(request, path, view, caller)
        case (.POST, "tweets", 1): return try write(request, view, caller)
        case (.GET, "tweets", 2):
            guard let post = Int64(path[1]).flatMap({ community.post($0) }) else { throw notFound(path[1]) }
            return page([post], next: nil, request, view, isSingle: true)
        case (.DELETE, "tweets", 2):
            try requireScope("tweet.write", caller)
            let isDeleted = Int64(path[1]).flatMap { community.delete($0, by: caller.person.number) } != nil
            guard isDeleted else { throw notFound(path[1]) }
            return .jsonValue(["data": ["deleted": true]])
        case (.GET, "dm_events", _), (.GET, "dm_conversations", _): return try messagesV2(request, path, view, caller)
        case (.POST, "dm_conversations", _): return try sendV2(request, path, view, caller)
        case (_, "media", 2...) where path[1] == "metadata": return .jsonValue(["data": [:]])
        case (_, "media", 2...):
            try requireScope("media.write", caller)
            return try uploadV2(request, path, by: caller)
        default: return nil
        }
    }

    /// Checks that the token has a scope.
    ///
    /// OAuth 1.0a tokens have all scopes; OAuth 2 tokens have those that the person granted.
    func requireScope(_ scope: String, _ caller: Caller) throws {
        guard caller.scopes.contains(scope) else {
            throw Self.problem(
                403,
                "Forbidden",
                detail: caller.scopes == ["app"]
                    ? "Authenticating with OAuth 2.0 Application-Only is forbidden for this endpoint."
                    : "You are not permitted to perform this action."
            )
        }
    }

    func notFound(_ id: String) -> NetworkErrorResponse {
        Self.problem(
            404,
            "Not Found Error",
            type: "https://api.twitter.com/2/problems/resource-not-found",
            detail: "Could not find tweet with id: [\(id)]."
        )
    }

    private func ofUser(
        _ request: NetworkRequest,
        _ path: [String],
        _ view: TwitterView,
        _ caller: Caller
    ) throws -> WebResponse? {
        guard path[1] == String(caller.person.id) || path[2] == "tweets" else {
            throw Self.problem(403, "Forbidden", detail: "The id must be that of the authenticating user.")
        }
        let own = caller.person
        switch (request.method, path.dropFirst(2).joined(separator: "/")) {
        case (.GET, "timelines/reverse_chronological"):
            try requireScope("tweet.read", caller)
            return try timeline(request, view) { community.home(of: own, $0) }
        case (.GET, "mentions"):
            try requireScope("tweet.read", caller)
            let ids = Set(
                community.notices(of: own.number).filter { $0.kind == .mention || $0.kind == .reply }.compactMap(\.post)
            )
            return try timeline(request, view) { community.posts($0) { ids.contains($0.id) } }
        case (.GET, "tweets"):
            guard let person = Int64(path[1]).flatMap({ community.person(id: $0) }) else { throw notFound(path[1]) }
            return try timeline(request, view) { community.posts($0) { $0.author == person.number } }
        case (.POST, "likes"):
            try requireScope("like.write", caller)
            guard let id = request.whole("tweet_id"), community.like(id, by: own.number) != nil else {
                throw notFound(request["tweet_id"] ?? "")
            }
            return .jsonValue(["data": ["liked": true]])
        case (.DELETE, let rest) where rest.hasPrefix("likes/"):
            try requireScope("like.write", caller)
            _ = path.last.flatMap { Int64($0) }.map { community.like($0, by: own.number, false) }
            return .jsonValue(["data": ["liked": false]])
        default: return nil
        }
    }

    // MARK: Pages

    func pageLimit(_ request: NetworkRequest, standard: Int, least: Int = 1) throws -> Int {
        guard let text = request["max_results"] else { return standard }
        guard let limit = Int(text), least...100 ~= limit else {
            throw Self.problem(
                400,
                "Invalid Request",
                type: "https://api.twitter.com/2/problems/invalid-request",
                detail: "The `max_results` query parameter value [\(text)] is not between \(least) and 100"
            )
        }
        return limit
    }

    static func pageToken(_ id: Int64) -> String {
        "7140w" + StableText.hex(of: "page \(id)").prefix(4) + String(id, radix: 32)
    }

    func pageCursor(_ request: NetworkRequest) throws -> Int64? {
        guard let token = request["pagination_token"] ?? request["next_token"] else { return nil }
        guard token.hasPrefix("7140w"), let id = Int64(token.dropFirst(9), radix: 32), Self.pageToken(id) == token
        else {
            throw Self.problem(
                400,
                "Invalid Request",
                type: "https://api.twitter.com/2/problems/invalid-request",
                detail: "The `pagination_token` query parameter value is not valid."
            )
        }
        return id
    }

    private func timeline(
        _ request: NetworkRequest,
        _ view: TwitterView,
        _ read: (PostRange) -> (posts: [Post], more: Bool)
    ) throws -> WebResponse {
        let below = try pageCursor(request) ?? request.whole("until_id")
        let limit = try pageLimit(request, standard: 100)
        let (posts, more) = read(PostRange(below: below, above: request.whole("since_id"), limit: limit))
        guard !request.returnsEmptyPage else {
            return page([], next: below ?? posts.first.map { $0.id + 1 }, request, view)
        }
        return page(posts, next: more ? posts.last?.id : nil, request, view)
    }

    private func page(
        _ posts: [Post],
        next: Int64?,
        _ request: NetworkRequest,
        _ view: TwitterView,
        isSingle: Bool = false
    ) -> WebResponse {
        let wanted = Set(request.all("tweet.fields").flatMap { $0.split(separator: ",").map(String.init) })
        let standard: Set<String> = ["id", "text", "edit_history_tweet_ids"]
        let shown = posts.map { post -> JSONValue in
            guard case .object(let fields) = view.tweetV2(post) else { return .null }
            return .object(fields.filter { standard.contains($0.key) || wanted.contains($0.key) })
        }
        // An empty page has no `data` field.
        var response: JSONValue = shown.isEmpty ? [:] : ["data": isSingle ? shown[0] : .array(shown)]
        let expansions = Set(request.all("expansions").flatMap { $0.split(separator: ",").map(String.init) })
        if let includes = view.includes(posts, expansions) { response = response.with(["includes": includes]) }
        guard !isSingle else { return .jsonValue(response) }
        var meta: JSONValue = ["result_count": .int(posts.count)]
        if let first = posts.first, let last = posts.last {
            meta = meta.with(["newest_id": .string(String(first.id)), "oldest_id": .string(String(last.id))])
        }
        if let next { meta = meta.with(["next_token": .string(Self.pageToken(next))]) }
        return .jsonValue(response.with(["meta": meta]))
    }

    // MARK: Writing

    private func write(_ request: NetworkRequest, _ view: TwitterView, _ caller: Caller) throws -> WebResponse {
        try requireScope("tweet.write", caller)
        guard let json = request.json else { throw Self.problem(400, "Invalid Request") }
        let text = json["text"]?.text ?? ""
        let ids = json["media"]?["media_ids"]?.values.compactMap { $0.plain.flatMap(Int64.init) } ?? []
        guard !text.isEmpty || !ids.isEmpty else {
            throw Self.problem(400, "Invalid Request", detail: "One of text or media is required.")
        }
        do {
            let attachments = try attachments(ids, of: caller.person.number)
            try check(text, attachments, by: caller.person)
            var draft = Community.Draft(text: text, media: attachments)
            if let parent = json["reply"]?["in_reply_to_tweet_id"]?.plain.flatMap(Int64.init) {
                guard community.post(parent) != nil else { throw notFound(String(parent)) }
                draft.parent = parent
            }
            if let location = json["geo"]?["place_id"]?.text {
                draft.location = Location(id: location, name: "Somewhere")
            }
            let post = community.publish(draft, by: caller.person.number)
            return .jsonValue(["data": ["id": .string(String(post.id)), "text": .string(text)]], .created)
        } catch let errorResponse as NetworkErrorResponse where ["186", "187"].contains(errorResponse.reason) {
            let detail =
                errorResponse.reason == "187"
                ? "You are not allowed to create a Tweet with duplicate content." : "Too long."
            throw Self.problem(403, "Forbidden", detail: detail)
        } catch let errorResponse as NetworkErrorResponse where errorResponse.reason == "324" {
            throw Self.problem(400, "Invalid Request", detail: "Your media IDs are invalid.")
        }
    }
}
