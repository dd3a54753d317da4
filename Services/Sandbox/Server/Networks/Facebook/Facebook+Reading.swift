import Foundation
import NIOHTTP1
import Wire

/// Reading the lists of Pages and people. Feeds are paged by time, all other lists by cursors.
extension Facebook {
    func read(_ path: [String], _ request: NetworkRequest, _ view: FacebookView) throws -> WebResponse? {
        guard let first = path.first else { return nil }
        let own = view.viewer
        if path.count == 1 { return try object(first, request, view) }
        switch (first, path[1]) {
        case ("me", "accounts"): return .jsonValue(Meta.page(request, [own], { $0.id }) { page(of: $0, request) })
        case ("me", "home"): return feed(request, view) { community.home(of: own, $0) }
        case ("me", "inbox"):
            return .jsonValue(
                Meta.page(request, community.messageThreads(of: own.number), { $0.messages.last?.id ?? 0 }, view.thread)
            )
        case ("me", "notifications"):
            return .jsonValue(Meta.page(request, community.notices(of: own.number), { $0.id }, view.notification))
        case (_, "feed"), (_, "posts"), (_, "tagged"):
            guard let person = view.person(first) else { return nil }
            return feed(request, view) { community.posts($0) { $0.author == person.number } }
        case (_, "conversations"):
            guard view.person(first)?.number == own.number else {
                throw Meta.error(190, "(#190) This method must be called with a Page Access Token")
            }
            let messageThreads = community.messageThreads(of: own.number)
            return .jsonValue(
                Meta.page(request, messageThreads, { $0.messages.last?.id ?? 0 }) {
                    view.chosen(view.messageThread($0))
                }
            )
        case (_, "messages"), (_, "comments"):
            if let messageThread = messageThread(first, view) {
                let newest = Array(messageThread.messages.reversed())
                // The current API returns only the 20 newest messages of a conversation.
                let all = path[1] == "messages" ? Array(newest.prefix(20)) : newest
                let show = { (message: Message) in
                    path[1] == "messages" ? view.message(message, in: messageThread) : view.comment(message)
                }
                return .jsonValue(Meta.page(request, all, { $0.id }, show))
            }
            guard let post = view.post(first) else { return nil }
            return .jsonValue(Meta.page(request, community.replies(to: post.id), { $0.id }, view.shown))
        case (_, "likes"):
            guard let post = view.post(first) else { return nil }
            return .jsonValue(Meta.page(request, post.likes.sorted().reversed(), { Int64($0) + 1 }, view.named))
        default: return nil
        }
    }

    private func page(of person: Person, _ request: NetworkRequest) -> JSONValue {
        let page: JSONValue = [
            "id": .string(FacebookView.page(of: person)), "name": .string(person.displayName),
            "access_token": .string("\(fixedToken(person))-page"),
            "tasks": ["CREATE_CONTENT", "MESSAGING", "MODERATE"],
            "category": "Community",
        ]
        guard let picture = ofOwn(person, request)["picture"] else { return page }
        return page.with(["picture": picture])
    }

    func messageThread(_ id: String, _ view: FacebookView) -> MessageThread? {
        Int64(id.replacing(/^t_/, with: "")).flatMap { community.messageThread($0, of: view.viewer.number) }
    }

    private func object(_ id: String, _ request: NetworkRequest, _ view: FacebookView) throws -> WebResponse? {
        if id == "search" {
            let location: JSONValue = [
                "id": "113785468632283", "name": "Lake Merced",
                "location": ["latitude": .number(37.72), "longitude": .number(-122.49)],
            ]
            return .jsonValue(["data": [location]])
        }
        if id == "debug_token" { return debug(request) }
        if let messageThread = messageThread(id, view) {
            return .jsonValue(
                view.chosen(
                    request["fields"]?.hasPrefix("messages") == true
                        ? view.messageThread(messageThread) : view.messageThread(messageThread)
                )
            )
        }
        if let person = view.person(id) {
            let isPage = id != "me" && FacebookView.page(of: person) == id || caller(isPage: request)
            let name: JSONValue = [
                "id": .string(isPage ? FacebookView.page(of: person) : String(person.id)),
                "name": .string(person.displayName), "username": .string(person.name),
            ]
            guard !isPage else { return .jsonValue(name.with(["access_token": .string("\(fixedToken(person))-page")])) }
            return .jsonValue(name.with(ofOwn(person, request)))
        }
        return view.post(id).map { .jsonValue(view.chosen(view.shown($0))) }
    }

    /// Returns the requested fields of a person; the email address requires the scope `email`.
    private func ofOwn(_ person: Person, _ request: NetworkRequest) -> [String: JSONValue] {
        let fields = request["fields"] ?? ""
        var own: [String: JSONValue] = [:]
        if fields.contains("picture") {
            let picture: JSONValue = [
                "url": .string("\(request.origin)/sandbox/media/500001"), "is_silhouette": false,
                "width": 512, "height": 512,
            ]
            own["picture"] = ["data": picture]
        }
        if fields.contains("email"), case .valid(let grant)? = request.bearer.map(grants.find),
            grant.scopes.contains("email")
        {
            own["email"] = .string("\(person.name)@example.org")
        }
        return own
    }

    func caller(isPage request: NetworkRequest) -> Bool {
        guard let token = try? Meta.token(of: request, secret: clientSecret),
            case .valid(let grant) = grants.find(token)
        else {
            return false
        }
        return grant.kind == "page"
    }

    private func debug(_ request: NetworkRequest) -> WebResponse {
        let token = request["input_token"] ?? ""
        guard case .valid(let grant) = grants.find(token) else { return .jsonValue(["data": ["is_valid": false]]) }
        let expiry = grant.expiry.map { Int($0.timeIntervalSince1970) } ?? 0
        return .jsonValue([
            "data": [
                "app_id": .string(grant.app), "type": grant.kind == "page" ? "PAGE" : "USER", "is_valid": true,
                "expires_at": .int(expiry), "scopes": .list(grant.scopes.sorted().map(JSONValue.string)),
                "user_id": .string(String(grant.person.flatMap(community.person)?.id ?? 0)),
            ]
        ])
    }

    /// Returns a feed, paged by `until` and a token.
    ///
    /// A short page may still have a next page.
    private func feed(
        _ request: NetworkRequest,
        _ view: FacebookView,
        _ read: (PostRange) -> (posts: [Post], more: Bool)
    ) -> WebResponse {
        let below = request.whole("__paging_token")
        let range = PostRange(below: below, limit: request.limit(standard: 25, most: 100))
        let (posts, more) = read(range)
        let shown = request.returnsEmptyPage ? [] : posts.map { view.chosen(view.shown($0)) }
        var page: JSONValue = ["data": .array(shown)]
        let edge = request.returnsEmptyPage ? below ?? posts.first.map { $0.id + 1 } : posts.last?.id
        guard let edge, more || request.returnsEmptyPage, let last = posts.last else { return .jsonValue(page) }
        let removed = ["until", "since", "__paging_token", "__previous", "access_token", "appsecret_proof"]
        let queryItems = request.query.filter { !removed.contains($0.name) }.map { ($0.name, Optional($0.value)) }
        let until = String(Int(last.createdAt.timeIntervalSince1970))
        let next = ConsentPage.url(request.url, queryItems + [("until", until), ("__paging_token", String(edge))])
        page = page.with(["paging": ["next": .string(next)]])
        return .jsonValue(page)
    }
}
