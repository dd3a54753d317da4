import Foundation
import NIOHTTP1
import Wire

/// The routes of a blog: its posts, its notifications and writing; and OAuth.
extension Tumblr {
    func ofBlog(_ request: NetworkRequest, _ path: [String], _ view: TumblrView) throws -> WebResponse? {
        guard let name = path.first, let blog = blog(name), path.count > 1 else { return nil }
        let isOwn = blog.number == view.viewer.number
        switch (request.method, path[1], path.count) {
        case (.GET, "info", 2): return Self.envelope(["blog": view.blog(blog)])
        case (.GET, "posts", _):
            let id = path.count > 2 ? Int64(path[2]) : request.whole("id")
            let limit = request.limit(standard: 20, most: 20)
            let posts = community.posts(PostRange(limit: limit + Int(request.whole("offset") ?? 0))) {
                $0.author == blog.number && (id == nil || $0.id == id)
            }.posts.dropFirst(Int(request.whole("offset") ?? 0))
            if path.count > 2 {
                guard let post = posts.first else { return nil }
                return Self.envelope(view.post(post))
            }
            let shown = posts.map { request.flag("npf") ? view.post($0) : view.legacy($0) }
            return Self.envelope(["blog": view.blog(blog), "posts": .list(shown), "total_posts": .int(shown.count)])
        case (.GET, "notifications", 2) where isOwn: return notifications(request, view)
        case (.POST, "posts", 2), (.POST, "post", 2):
            guard isOwn else { throw Self.apiError(.forbidden, "Forbidden", code: 0, "Not your blog") }
            return path[1] == "posts" ? try write(request, view) : try writeLegacy(request, view)
        case (.POST, "post", 3) where path[2] == "delete":
            guard isOwn, let id = request.whole("id"), community.delete(id, by: blog.number) != nil else { return nil }
            return Self.envelope(["id": .string(String(id))])
        default: return nil
        }
    }

    /// Returns the blog with this name, host name or UUID.
    private func blog(_ name: String) -> Person? {
        if name.hasPrefix("t:") { return community.people.first { "t:\($0.stableKey)" == name } }
        return community.person(named: String(name.prefix { $0 != "." }))
    }

    private func notifications(_ request: NetworkRequest, _ view: TumblrView) -> WebResponse {
        let before = request["before"].flatMap { Double($0) }
        let types = Set(request.all("types"))
        let all = community.notices(of: view.viewer.number).filter { notice in
            let type = view.notification(notice)["type"]?.text ?? ""
            return before.map { notice.createdAt.timeIntervalSince1970 < $0 } ?? true
                && (types.isEmpty || types.contains(type))
        }
        let found = request.returnsEmptyPage ? [] : Array(all.prefix(20))
        let payload: JSONValue = ["notifications": .list(found.map(view.notification))]
        let edge =
            request.returnsEmptyPage ? all.first.map { $0.createdAt + 1 } : all.count > 20 ? found.last?.createdAt : nil
        guard let edge else { return Self.envelope(payload) }
        let link: JSONValue = [
            "type": "action", "method": "GET", "href": .string("/v2/blog/\(view.viewer.name)/notifications"),
            "query_params": ["before": .string(String(Int(edge.timeIntervalSince1970)))],
        ]
        return Self.envelope(payload.with(["_links": ["next": link]]))
    }

    // MARK: Writing

    private func published(_ draft: Community.Draft, by author: Person) -> WebResponse {
        let post = community.publish(draft, by: author.number)
        return Self.envelope(
            ["id": .string(String(post.id)), "id_string": .string(String(post.id)), "state": "published"],
            .created
        )
    }

    private func write(_ request: NetworkRequest, _ view: TumblrView) throws -> WebResponse {
        guard let json = request.json else { throw Self.apiError(.badRequest, "Bad Request", code: 8_001, "No JSON") }
        var draft = Community.Draft(room: json["tags"]?.plain)
        let own = view.viewer.number
        if let parent = json["parent_post_id"]?.plain.flatMap(Int64.init) {
            guard json["reblog_key"]?.text == TumblrView.key(parent), community.post(parent) != nil else {
                throw Self.apiError(.badRequest, "Bad Request", code: 8_002, "The parent cannot be reblogged")
            }
            draft.original = parent
        }
        let blocks = json["content"]?.values ?? []
        guard !blocks.isEmpty || draft.original != nil else {
            throw Self.apiError(.badRequest, "Bad Request", code: 8_001, "NPF is invalid: no content")
        }
        var texts: [String] = []
        for block in blocks {
            switch block["type"]?.text {
            case "text":
                let text = block["text"]?.text ?? ""
                guard 1...4_096 ~= text.count else {
                    throw Self.apiError(
                        .badRequest,
                        "Bad Request",
                        code: 8_001,
                        "A text block has 1 to 4096 characters"
                    )
                }
                texts.append(text)
            case "image", "video":
                let sources = (block["media"]?.values ?? []) + [block["media"]].compactMap(\.self)
                let identifier = sources.compactMap { $0["identifier"]?.text }.first
                guard let identifier, let file = request.files.first(where: { $0.name == identifier }) else {
                    throw Self.apiError(.badRequest, "Bad Request", code: 8_005, "The media is not there")
                }
                let saved = media.save(
                    file.bytes,
                    type: file.type,
                    description: block["alt_text"]?.text,
                    by: own,
                    at: clock.now
                )
                draft.media.append(saved.attachment)
            default: throw Self.apiError(.badRequest, "Bad Request", code: 8_001, "NPF is invalid: unknown block")
            }
        }
        guard draft.media.count <= 30 else {
            throw Self.apiError(.badRequest, "Bad Request", code: 8_004, "Too many media")
        }
        draft.text = texts.joined(separator: "\n")
        return published(draft, by: view.viewer)
    }

    private func writeLegacy(_ request: NetworkRequest, _ view: TumblrView) throws -> WebResponse {
        var draft = Community.Draft(title: request["title"], room: request["tags"])
        switch request["type"] ?? "text" {
        case "text":
            guard let body = request["body"] else {
                throw Self.apiError(.badRequest, "Bad Request", code: 0, "No body")
            }
            draft.text = body
        case "photo", "video":
            guard let file = request.files.first(where: { $0.name.hasPrefix("data") }) else {
                throw Self.apiError(.badRequest, "Bad Request", code: 0, "No data")
            }
            draft.text = request["caption"] ?? ""
            draft.media = [media.save(file.bytes, type: file.type, by: view.viewer.number, at: clock.now).attachment]
        default: throw Self.apiError(.badRequest, "Bad Request", code: 0, "No such type")
        }
        return published(draft, by: view.viewer)
    }

    // MARK: OAuth

    func authorization(_ request: NetworkRequest) throws -> WebResponse? {
        switch request.path.joined(separator: "/") {
        case "oauth/request_token":
            let signed = try verifiedRequest(request)
            guard let callback = signed.callback ?? request["oauth_callback"] else { return WebResponse(.badRequest) }
            let (token, secret) = oauth1.createRequestToken(callback: callback)
            return .text("oauth_token=\(token)&oauth_token_secret=\(secret)&oauth_callback_confirmed=true")
        case "oauth/authorize": return approve(request)
        case "oauth/access_token":
            let signed = try verifiedRequest(request)
            guard let requestToken = signed.token, let verifier = signed.verifier ?? request["oauth_verifier"],
                let person = oauth1.redeem(requestToken, verifier: verifier).flatMap(community.person)
            else { return .text("oauth_verifier does not match", status: .unauthorized) }
            let token = newToken(person)
            var grant = Grants.Grant(person: person.number, app: clientID, scopes: ["basic", "write"])
            grant.secret = Base64URL.random(bytes: 30)
            grants.put(token, grant)
            return .text("oauth_token=\(token)&oauth_token_secret=\(grant.secret ?? "")")
        case "oauth2/authorize":
            guard request["client_id"] == clientID, request["response_type"] == "code", request["state"] != nil,
                let redirect = request["redirect_uri"], redirect.contains("://"), let scope = request["scope"]
            else { return .html("<h1>Bad request</h1>", status: .badRequest) }
            let scopes = Set(scope.split(separator: " ").map(String.init))
            return consent(request, app: clientID, redirect: redirect, scopes: scopes, now: clock.now)
        case "v2/oauth2/token": return token(request)
        case "v2/oauth2/revoke":
            request["token"].map { _ = grants.revoke($0) }
            return .jsonValue([:])
        default: return nil
        }
    }

    private func verifiedRequest(_ request: NetworkRequest) throws -> OAuth1Validator.SignedRequest {
        do {
            return try oauth1.validate(request)
        } catch {
            throw NetworkErrorResponse(
                .text("oauth_signature does not match expected value", status: .unauthorized),
                "signature"
            )
        }
    }

    private func approve(_ request: NetworkRequest) -> WebResponse {
        guard let token = request["oauth_token"], let requestToken = oauth1.requestToken(token) else {
            return .html("<p>oauth_token is unknown or has expired</p>", status: .badRequest)
        }
        guard let response = ConsentPage.decision(request, among: community) else {
            let page = ConsentPage(network: "Tumblr", app: clientID, people: community.people, fields: request.query)
            return .html(page.html)
        }
        guard let person = response, let verifier = oauth1.approve(token, person) else {
            return .redirect(to: ConsentPage.url(requestToken.callback, [("oauth_token", token)]))
        }
        let fields = [("oauth_token", token), ("oauth_verifier", verifier)]
        return .redirect(to: ConsentPage.url(requestToken.callback, fields))
    }

    private func token(_ request: NetworkRequest) -> WebResponse {
        let id = request["client_id"] ?? request.basic?.name
        guard id == clientID, (request["client_secret"] ?? request.basic?.password) == clientSecret else {
            return .jsonValue(["error": "invalid_client"], .unauthorized)
        }
        let person: Person?
        let scopes: Set<String>
        switch request["grant_type"] {
        case "authorization_code":
            let code = request["code"].flatMap {
                grants.redeem($0, app: clientID, redirect: request["redirect_uri"], verifier: request["code_verifier"])
            }
            (person, scopes) = (code.flatMap { community.person($0.person) }, code?.scopes ?? [])
        case "refresh_token":
            let grant = request["refresh_token"].flatMap { grants.renewal($0, once: true) }
            (person, scopes) = (grant?.person.flatMap(community.person), grant?.scopes ?? [])
        default: return .jsonValue(["error": "unsupported_grant_type"], .badRequest)
        }
        guard let person else { return .jsonValue(["error": "invalid_grant"], .badRequest) }
        let token = newToken(person)
        let refresh = scopes.contains("offline_access") ? "\(token)-refresh" : nil
        let issued = grant(token, to: person, scopes: scopes, lifetime: 2_520, refresh: refresh, now: clock.now)
        return .jsonValue(issued.with(["id_token": false]))
    }
}
