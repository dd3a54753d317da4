import Foundation
import NIOHTTP1
import Wire

/// Tumblr's API v2: OAuth 1.0a or 2, an envelope around each response, a dashboard paged by offset, and notifications
/// paged by time.
struct Tumblr: FakeNetwork {
    let service = SandboxService.tumblr
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore
    let oauth1: OAuth1Validator

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(offset: 209, ids: .serial(from: 700_000_000_000_000_000, step: 13))
        grants = Grants(clock: parts.clock)
        oauth1 = OAuth1Validator(key: "roost-tumblr", secret: "roost-tumblr-secret", grants: grants, clock: parts.clock)
        for person in community.people { _ = account(person) }
    }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        if case .unknown = grants.find(token) {
            var grant = Grants.Grant(
                person: person.number,
                app: clientID,
                scopes: ["basic", "write", "offline_access"]
            )
            grant.secret = "\(token)-secret"
            grant.refresh = "\(token)-refresh"
            grants.put(token, grant)
        }
        return NetworkAccount(
            name: person.name,
            id: person.name,
            accessToken: token,
            accessTokenSecret: "\(token)-secret",
            refreshToken: "\(token)-refresh"
        )
    }

    // MARK: Authentication

    func caller(of request: NetworkRequest) throws -> Caller? {
        let path = request.path.joined(separator: "/")
        guard !path.hasPrefix("oauth"), path != "v2/oauth2/token", path != "v2/oauth2/revoke" else { return nil }
        do {
            if OAuth1Validator.isSigned(request) {
                guard let token = try oauth1.validate(request).token else { throw OAuth1Validator.Violation.token }
                return try caller(token: token)
            }
            guard let token = request.bearer else { throw OAuth1Validator.Violation.unsigned }
            return try caller(token: token)
        } catch {
            throw Self.apiError(.unauthorized, "Unauthorized", code: 1_016, "Unable to authorize")
        }
    }

    // MARK: Rate limits and errors

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        // Tumblr limits the app, not the caller.
        caller.map { _ in RateBudget(name: "hour", limit: 1_000, window: 3_600) }
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders {
        let left = String(max(0, Int(limitStatus.resetsAt.timeIntervalSince(time))))
        return [
            "x-ratelimit-perhour-limit": String(limitStatus.limit),
            "x-ratelimit-perhour-remaining": String(limitStatus.remaining), "x-ratelimit-perhour-reset": left,
            "x-ratelimit-perday-limit": "5000", "x-ratelimit-perday-remaining": String(4_000 + limitStatus.remaining),
            "x-ratelimit-perday-reset": "86400",
        ]
    }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        switch failure {
        case .limited(let time):
            var response = Self.apiError(.tooManyRequests, "Limit Exceeded", code: 0, "Limit Exceeded").response
            let left = String(max(0, Int(time.timeIntervalSince(clock.now).rounded())))
            response.headers.add(name: "x-ratelimit-perhour-limit", value: "1000")
            response.headers.add(name: "x-ratelimit-perhour-remaining", value: "0")
            response.headers.add(name: "x-ratelimit-perhour-reset", value: left)
            return response
        case .unavailable(let status):
            return Self.apiError(HTTPResponseStatus(statusCode: status), "Service Unavailable", code: 0, "Try later")
                .response
        case .expired: return Self.apiError(.unauthorized, "Unauthorized", code: 1_016, "Unable to authorize").response
        case .other(let status, let reason):
            return Self.apiError(HTTPResponseStatus(statusCode: status), reason, code: Int(reason) ?? 0, reason)
                .response
        case .notFound: return Self.apiError(.notFound, "Not Found", code: 0, "Nothing is here").response
        }
    }

    static func envelope(_ payload: JSONValue, _ status: HTTPResponseStatus = .ok) -> WebResponse {
        let meta: JSONValue = ["status": .int(Int(status.code)), "msg": .string(status.reasonPhrase)]
        return .jsonValue(["meta": meta, "response": payload], status)
    }

    static func apiError(
        _ status: HTTPResponseStatus,
        _ title: String,
        code: Int,
        _ detail: String
    ) -> NetworkErrorResponse {
        let error: JSONValue = ["title": .string(title), "code": .int(code), "detail": .string(detail)]
        let meta: JSONValue = ["status": .int(Int(status.code)), "msg": .string(title)]
        return NetworkErrorResponse(.jsonValue(["meta": meta, "response": [], "errors": [error]], status), title)
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        let path = request.path
        if path.first == "oauth" || path.first == "oauth2" || path.starts(with: ["v2", "oauth2"]) {
            return .response(try authorization(request) ?? errorResponse(.notFound, of: request))
        }
        guard let caller, path.first == "v2", path.count > 2 else {
            return .response(errorResponse(.notFound, of: request))
        }
        let view = TumblrView(community: community, origin: request.origin, viewer: caller.person)
        let response =
            path[1] == "user"
            ? try ofUser(request, path[2], view) : try ofBlog(request, Array(path.dropFirst(2)), view)
        return .response(response ?? errorResponse(.notFound, of: request))
    }

    private func ofUser(_ request: NetworkRequest, _ name: String, _ view: TumblrView) throws -> WebResponse? {
        switch (request.method, name) {
        case (.GET, "info"):
            let user: JSONValue = [
                "name": .string(view.viewer.name), "likes": 3, "following": 7, "default_post_format": "html",
                "blogs": [view.blog(view.viewer).with(["primary": true])],
            ]
            return Self.envelope(["user": user])
        case (.GET, "dashboard"): return dashboard(request, view)
        case (.GET, "limits"):
            let limit = { (count: Int64) -> JSONValue in
                ["description": "a day", "limit": .integer(count), "remaining": .integer(count), "reset_at": 0]
            }
            return Self.envelope([
                "user": ["posts": limit(250), "images": limit(250), "videos": limit(20), "likes": limit(1_000)]
            ])
        case (.POST, "like"), (.POST, "unlike"):
            guard let id = request.whole("id"), request["reblog_key"] == TumblrView.key(id),
                community.like(id, by: view.viewer.number, name == "like") != nil
            else { throw Self.apiError(.notFound, "Not Found", code: 0, "No such post") }
            return Self.envelope([])
        default: return nil
        }
    }

    private func dashboard(_ request: NetworkRequest, _ view: TumblrView) -> WebResponse {
        let limit = request.limit(standard: 20, most: 20)
        let offset = max(0, Int(request.whole("offset") ?? 0))
        var range = PostRange(
            below: request.whole("before_id"),
            above: request.whole("since_id"),
            limit: limit + offset
        )
        range.isUpward = request["since_id"] != nil
        let posts = community.home(of: view.viewer, range).posts
        let shown =
            request.returnsEmptyPage ? [] : Array(range.isUpward ? posts.suffix(limit) : posts.dropFirst(offset))
        let isNPF = request.flag("npf")
        var payload: JSONValue = ["posts": .list(shown.map { isNPF ? view.post($0) : view.legacy($0) })]
        if request.returnsEmptyPage || shown.count == limit {
            let next = String(offset + shown.count)
            let link: JSONValue = [
                "type": "action", "method": "GET", "href": .string("/v2/user/dashboard?offset=\(next)"),
                "query_params": ["offset": .string(next)],
            ]
            payload = payload.with(["_links": ["next": link]])
        }
        return Self.envelope(payload)
    }
}
