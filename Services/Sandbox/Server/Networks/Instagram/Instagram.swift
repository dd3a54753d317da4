import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import Wire

/// Instagram: v1 with signed requests (until 2020), and the current API for professional accounts, with media
/// containers.
struct Instagram: FakeNetwork {
    let service = SandboxService.instagram
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore
    let hooks: MetaWebhooks
    let calls: OutgoingRequests
    let containers = OwnedItems<InstagramContainer>(after: 17_889_455_560_000_000)

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(
            offset: 371,
            ids: .serial(from: 17_895_731_045_244_000, step: 19),
            mustHave: .photo
        )
        grants = Grants(clock: parts.clock)
        calls = parts.calls
        hooks = MetaWebhooks(parts.calls, secret: "roost-instagram-secret")
        for person in community.people { _ = account(person) }
        listen()
    }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        if case .unknown = grants.find(token) {
            grants.put(token, Grants.Grant(person: person.number, app: clientID, scopes: []))
        }
        return NetworkAccount(name: person.name, id: InstagramView.id(of: person), accessToken: token)
    }

    var deliveries: WebhookSender? { hooks.deliveries }

    // MARK: Authentication

    func caller(of request: NetworkRequest) throws -> Caller? {
        let path = request.path.joined(separator: "/")
        guard !path.hasPrefix("oauth"), path != "access_token", path != "refresh_access_token" else { return nil }
        if path == "v1/subscriptions" || path.hasSuffix("/subscriptions") { return nil }
        let isV1 = request.path.first == "v1"
        do {
            let token = try Meta.token(of: request, secret: clientSecret)
            let caller = try caller(token: token)
            if isV1 { try checkSignature(request) }
            return caller
        } catch is GrantError {
            throw isV1
                ? Self.v1(400, "OAuthAccessTokenException", "The access_token provided is invalid.") : Meta.expired
        }
    }

    /// Checks `sig` when the request has it: a signature over the path and the sorted parameters.
    private func checkSignature(_ request: NetworkRequest) throws {
        guard let signature = request["sig"] else { return }
        let fields = (request.query + request.form).filter { $0.name != "sig" }.sorted { $0.name < $1.name }
        let path = "/" + request.path.dropFirst().joined(separator: "/")
        let text = ([path] + fields.map { "\($0.name)=\($0.value)" }).joined(separator: "|")
        guard signature == Meta.hex(text, clientSecret) else {
            throw Self.v1(403, "OAuthForbiddenException", "Invalid signed-request: Signature does not match")
        }
    }

    // MARK: Rate limits and errors

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        caller.map { _ in RateBudget(name: "hour", limit: request.path.first == "v1" ? 5_000 : 4_800, window: 3_600) }
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders {
        var fields = Meta.fields(of: limitStatus)
        fields.add(name: "x-ratelimit-limit", value: String(limitStatus.limit))
        fields.add(name: "x-ratelimit-remaining", value: String(limitStatus.remaining))
        return fields
    }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        guard request.path.first == "v1" else { return Meta.errorResponse(failure, at: clock.now) }
        return switch failure {
        case .limited:
            Self.v1(429, "OAuthRateLimitException", "The maximum number of requests per hour has been exceeded.")
                .response
        case .unavailable(let status): Self.v1(status, "APIError", "Try again later.").response
        case .expired: Self.v1(400, "OAuthAccessTokenException", "The access_token provided is invalid.").response
        case .other(let status, let reason): Self.v1(status, reason, reason).response
        case .notFound: Self.v1(400, "APINotFoundError", "this media does not exist").response
        }
    }

    static func v1(_ status: Int, _ type: String, _ text: String) -> NetworkErrorResponse {
        let meta: JSONValue = ["error_type": .string(type), "code": .int(status), "error_message": .string(text)]
        return NetworkErrorResponse(.jsonValue(["meta": meta], HTTPResponseStatus(statusCode: status)), type)
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        if request.path.last == "subscriptions" { return hooks.subscribe(request) }
        guard let caller else { return .response(try authorization(request) ?? errorResponse(.notFound, of: request)) }
        let view = InstagramView(community: community, request: request, viewer: caller.person)
        var path = Array(request.path)
        if path.first == "v1" {
            return .response(v1(request, Array(path.dropFirst()), view) ?? errorResponse(.notFound, of: request))
        }
        if let version = path.first, version.firstMatch(of: /^v\d+\.\d+$/) != nil { path.removeFirst() }
        if request.method == .POST, path.count == 2, path[1] == "media" { return try makeContainer(request, view) }
        return .response(try graph(request, path, view) ?? errorResponse(.notFound, of: request))
    }

    private func v1(_ request: NetworkRequest, _ path: [String], _ view: InstagramView) -> WebResponse? {
        let envelope = { (data: JSONValue) in WebResponse.jsonValue(["meta": ["code": 200], "data": data]) }
        let own = view.viewer
        switch (request.method, path.joined(separator: "/")) {
        case (.GET, "users/self"): return envelope(view.v1User(own))
        case (.GET, "users/self/feed"): return v1List(request, view) { community.home(of: own, $0) }
        case (.GET, _) where path.count == 4 && path[0] == "users" && path[2] == "media":
            guard let person = view.person(path[1]) else { return nil }
            return v1List(request, view) { community.posts($0) { $0.author == person.number } }
        case (.POST, _) where path.count == 3 && path[2] == "likes",
            (.DELETE, _) where path.count == 3 && path[2] == "likes":
            guard let id = view.mediaID(path[1]), community.like(id, by: own.number, request.method == .POST) != nil
            else {
                return nil
            }
            return envelope(nil)
        case (.POST, _) where path.count == 3 && path[2] == "comments":
            guard let id = view.mediaID(path[1]), let text = request["text"], community.post(id) != nil else {
                return nil
            }
            community.publish(Community.Draft(text: text, parent: id), by: own.number)
            return envelope(nil)
        default: return nil
        }
    }

    private func v1List(
        _ request: NetworkRequest,
        _ view: InstagramView,
        _ read: (PostRange) -> (posts: [Post], more: Bool)
    ) -> WebResponse {
        let below = request["max_id"].flatMap(view.mediaID)
        let above = request["min_id"].flatMap(view.mediaID)
        let (posts, more) = read(
            PostRange(below: below, above: above, limit: request.limit("count", standard: 20, most: 100))
        )
        let edge = request.returnsEmptyPage ? below ?? posts.first.map { $0.id + 1 } : more ? posts.last?.id : nil
        var pagination: JSONValue = [:]
        if let edge {
            let id = "\(edge)_0"
            let queryItems = request.query.filter { !["max_id", "sig"].contains($0.name) }.map {
                ($0.name, Optional($0.value))
            }
            let next = ConsentPage.url(request.url, queryItems + [("max_id", id)])
            pagination = ["next_max_id": .string(id), "next_url": .string(next)]
        }
        let shown = request.returnsEmptyPage ? [] : posts.map(view.v1Media)
        return .jsonValue(["meta": ["code": 200], "data": .array(shown), "pagination": pagination])
    }

    // MARK: Events

    private func listen() {
        _ = community.listen { [community, hooks, clock] event in
            let id = { (number: Int) in InstagramView.id(of: community.person(number) ?? .anonymous) }
            let now = JSONValue.int(Int(clock.now.timeIntervalSince1970))
            switch event {
            case .posted(let post):
                guard let parent = post.parent.flatMap({ community.post($0) }) else { return }
                let value: JSONValue = [
                    "id": .string(String(post.id)), "text": .string(post.text),
                    "from": ["id": .string(id(post.author)), "username": .text(community.person(post.author)?.name)],
                    "media": ["id": .string(String(parent.id)), "media_product_type": "FEED"],
                ]
                let change: JSONValue = ["field": "comments", "value": value]
                hooks.send("instagram", "comments", of: id(parent.author), ["time": now, "changes": [change]])
            case .messageSent(let messageThread, let message):
                for member in messageThread.members where member != message.sender {
                    let messaging: JSONValue = [
                        "sender": ["id": .string(id(message.sender))], "recipient": ["id": .string(id(member))],
                        "timestamp": .int(Int(message.createdAt.timeIntervalSince1970 * 1_000)),
                        "message": ["mid": .string(InstagramView.id(of: message)), "text": .string(message.text)],
                    ]
                    hooks.send("instagram", "messages", of: id(member), ["time": now, "messaging": [messaging]])
                }
            default: break
            }
        }
    }
}
