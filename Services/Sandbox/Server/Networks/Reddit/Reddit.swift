import Foundation
import NIOHTTP1
import Wire

/// Reddit: things with full names, listings, a rate limit per ten minutes, and form errors with the status 200.
struct Reddit: FakeNetwork {
    let service = SandboxService.reddit
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore

    static let rooms = ["Music", "books", "Cooking", "Showerthoughts"]

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(offset: 101, ids: .serial(from: 2_300_000_000, step: 7), rooms: Self.rooms)
        grants = Grants(clock: parts.clock)
        // Some people follow the broadcasters.
        let broadcasters = ["pianist", "painter", "gardener"].map { community.findOrCreate($0, follows: []).number }
        for (number, person) in community.people.enumerated() {
            if number < 4 { community.follow(person.follows.union(broadcasters.prefix(number + 1)), by: number) }
            _ = account(person)
        }
    }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        if case .unknown = grants.find(token) {
            grants.put(
                token,
                Grants.Grant(person: person.number, app: clientID, scopes: ["*"], refresh: "\(token)-refresh")
            )
        }
        return NetworkAccount(
            name: person.name,
            id: RedditView.name(of: person),
            accessToken: token,
            refreshToken: "\(token)-refresh"
        )
    }

    // MARK: Authentication

    private static let open: Set<String> = [
        "api/v1/authorize", "api/v1/access_token", "api/v1/revoke_token", "upload",
    ]

    func caller(of request: NetworkRequest) throws -> Caller? {
        let path = request.path.joined(separator: "/")
        if path != "api/v1/authorize", path != "upload", request.path.first != "submitted" { try checkAgent(request) }
        guard !Self.open.contains(path), request.path.first != "submitted" else { return nil }
        guard let token = request.bearer else { throw unauthorized("no token") }
        let caller: Caller
        do {
            caller = try self.caller(token: token)
        } catch {
            throw unauthorized("invalid_token")
        }
        if let scope = Self.scope(for: path), !caller.scopes.contains(scope), !caller.scopes.contains("*") {
            var response = WebResponse.jsonValue(["message": "Forbidden", "error": 403], .forbidden)
            response.headers.add(
                name: "www-authenticate",
                value: "Bearer realm=\"reddit\", error=\"insufficient_scope\""
            )
            throw NetworkErrorResponse(response, "insufficient_scope")
        }
        return caller
    }

    /// Checks the user agent, because Reddit limits default user agents to almost no requests.
    private func checkAgent(_ request: NetworkRequest) throws {
        let agent = request.headers.first(name: "user-agent") ?? ""
        guard
            agent.isEmpty
                || ["curl/", "python-requests/", "python-urllib"].contains(where: agent.lowercased().hasPrefix)
        else { return }
        throw NetworkErrorResponse(errorResponse(.limited(until: clock.now + 60), of: request), "user-agent")
    }

    func unauthorized(_ reason: String) -> NetworkErrorResponse {
        var response = WebResponse.jsonValue(["message": "Unauthorized", "error": 401], .unauthorized)
        response.headers.add(name: "www-authenticate", value: "Bearer realm=\"reddit\", error=\"invalid_token\"")
        return NetworkErrorResponse(response, reason)
    }

    private static func scope(for path: String) -> String? {
        switch path {
        case "api/v1/me": "identity"
        case "api/submit", "api/comment", "api/media/asset.json", "api/del": "submit"
        case "api/vote": "vote"
        case "subreddits/mine/subscriber": "mysubreddits"
        case let path where path.hasPrefix("message/") || path.hasPrefix("api/read_") || path == "api/compose":
            "privatemessages"
        default: "read"
        }
    }

    // MARK: Rate limits and errors

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        caller.map { _ in RateBudget(name: "all", limit: 1_000, window: 600) }
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders {
        [
            "x-ratelimit-used": String(limitStatus.used), "x-ratelimit-remaining": "\(limitStatus.remaining).0",
            "x-ratelimit-reset": String(max(0, Int(limitStatus.resetsAt.timeIntervalSince(time).rounded(.up)))),
        ]
    }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        switch failure {
        case .limited(let time):
            // Reddit responds with an HTML page even to API requests.
            var response = WebResponse.html(
                "<!doctype html><html><head><title>Too Many Requests</title></head><body><h1>whoa there, pardner!</h1>"
                    + "</body></html>",
                status: .tooManyRequests
            )
            response.headers.add(name: "x-ratelimit-remaining", value: "0.0")
            response.headers.add(
                name: "x-ratelimit-reset",
                value: String(max(0, Int(time.timeIntervalSince(clock.now).rounded(.up))))
            )
            return response
        case .unavailable(let status):
            return WebResponse(HTTPResponseStatus(statusCode: status), headers: ["content-type": "text/html"])
        case .expired: return unauthorized("invalid_token").response
        case .other(let status, let reason):
            return .jsonValue(
                ["message": .string(reason), "error": .int(status), "reason": .string(reason)],
                HTTPResponseStatus(statusCode: status)
            )
        case .notFound: return .jsonValue(["message": "Not Found", "error": 404], .notFound)
        }
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        var path = request.path
        if let last = path.last, last.hasSuffix(".json"), last != "asset.json" { path[path.count - 1].removeLast(5) }
        let joined = path.joined(separator: "/")
        switch (request.method, joined) {
        case (.GET, "api/v1/authorize"), (.POST, "api/v1/authorize"): return .response(authorize(request))
        case (.POST, "api/v1/access_token"): return .response(token(request))
        case (.POST, "api/v1/revoke_token"):
            try checkApp(request)
            request["token"].map { _ = grants.revoke($0) }
            return .response(WebResponse(.noContent))
        case (.POST, "upload"): return .response(store(request))
        case (.GET, let path) where path.hasPrefix("submitted/"): return submitted(request)
        default: break
        }
        guard let caller else { return .response(errorResponse(.notFound, of: request)) }
        let response =
            request.method == .POST
            ? try write(joined, request, by: caller) : read(path, request, by: caller)
        return .response(response ?? errorResponse(.notFound, of: request))
    }
}
