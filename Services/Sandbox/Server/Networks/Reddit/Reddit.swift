import Foundation
import NIOHTTP1
import Wire

/// Reddit: things with full names, listings, a budget over ten minutes, and forms whose flaws are answered with 200.
struct Reddit: PlayedNetwork {
    let service = SandboxService.reddit
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: SeededMedia

    static let rooms = ["Music", "books", "Cooking", "Showerthoughts"]

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(offset: 101, ids: .serial(from: 2_300_000_000, step: 7), rooms: Self.rooms)
        grants = Grants(clock: parts.clock)
        // Those who broadcast are followed by some.
        let broadcasters = ["pianist", "painter", "gardener"].map { community.join($0, follows: []).number }
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

    // MARK: Who asks

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
            var answer = WebAnswer.written(["message": "Forbidden", "error": 403], .forbidden)
            answer.headers.add(
                name: "www-authenticate",
                value: "Bearer realm=\"reddit\", error=\"insufficient_scope\""
            )
            throw NetworkRefusal(answer, "insufficient_scope")
        }
        return caller
    }

    /// Clients without a name of their own get next to nothing.
    private func checkAgent(_ request: NetworkRequest) throws {
        let agent = request.headers.first(name: "user-agent") ?? ""
        guard
            agent.isEmpty
                || ["curl/", "python-requests/", "python-urllib"].contains(where: agent.lowercased().hasPrefix)
        else { return }
        throw NetworkRefusal(refusal(.limited(until: clock.now + 60), of: request), "user-agent")
    }

    func unauthorized(_ reason: String) -> NetworkRefusal {
        var answer = WebAnswer.written(["message": "Unauthorized", "error": 401], .unauthorized)
        answer.headers.add(name: "www-authenticate", value: "Bearer realm=\"reddit\", error=\"invalid_token\"")
        return NetworkRefusal(answer, reason)
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

    // MARK: Limits and refusals

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        caller.map { _ in RateBudget(name: "all", limit: 1_000, window: 600) }
    }

    func fields(of standing: RateStanding, at time: Date) -> HTTPHeaders {
        [
            "x-ratelimit-used": String(standing.used), "x-ratelimit-remaining": "\(standing.remaining).0",
            "x-ratelimit-reset": String(max(0, Int(standing.resetsAt.timeIntervalSince(time).rounded(.up)))),
        ]
    }

    func refusal(_ failure: NetworkFailure, of request: NetworkRequest) -> WebAnswer {
        switch failure {
        case .limited(let time):
            // A page, whatever was asked for.
            var answer = WebAnswer.html(
                "<!doctype html><html><head><title>Too Many Requests</title></head><body><h1>whoa there, pardner!</h1>"
                    + "</body></html>",
                status: .tooManyRequests
            )
            answer.headers.add(name: "x-ratelimit-remaining", value: "0.0")
            answer.headers.add(
                name: "x-ratelimit-reset",
                value: String(max(0, Int(time.timeIntervalSince(clock.now).rounded(.up))))
            )
            return answer
        case .unwell(let status):
            return WebAnswer(HTTPResponseStatus(statusCode: status), headers: ["content-type": "text/html"])
        case .expired: return unauthorized("invalid_token").answer
        case .other(let status, let reason):
            return .written(
                ["message": .string(reason), "error": .int(status), "reason": .string(reason)],
                HTTPResponseStatus(statusCode: status)
            )
        case .nothing: return .written(["message": "Not Found", "error": 404], .notFound)
        }
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> WebReply {
        var path = request.path
        if let last = path.last, last.hasSuffix(".json"), last != "asset.json" { path[path.count - 1].removeLast(5) }
        let joined = path.joined(separator: "/")
        switch (request.method, joined) {
        case (.GET, "api/v1/authorize"), (.POST, "api/v1/authorize"): return .answer(authorize(request))
        case (.POST, "api/v1/access_token"): return .answer(token(request))
        case (.POST, "api/v1/revoke_token"):
            try checkApp(request)
            request["token"].map { _ = grants.revoke($0) }
            return .answer(WebAnswer(.noContent))
        case (.POST, "upload"): return .answer(store(request))
        case (.GET, let path) where path.hasPrefix("submitted/"): return submitted(request)
        default: break
        }
        guard let caller else { return .answer(refusal(.nothing, of: request)) }
        let answer =
            request.method == .POST
            ? try write(joined, request, by: caller) : read(path, request, by: caller)
        return .answer(answer ?? refusal(.nothing, of: request))
    }
}
