import Foundation
import NIOHTTP1
import Wire

/// Twitter: API 1.1 (2015 to 2019) with OAuth 1.0a, and v2 of X with OAuth 2 or 1.0a, over the same people and posts.
struct Twitter: FakeNetwork {
    let service = SandboxService.twitter
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore
    let oauth1: OAuth1Validator
    let hooks: TwitterWebhooks
    let uploads = OwnedItems<TwitterUpload>(after: 1_149_867_885_923_356_672)

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(offset: 155, ids: .timed(epoch: 1_288_834_974_657, shift: 22))
        grants = Grants(clock: parts.clock)
        oauth1 = OAuth1Validator(
            key: "roost-twitter",
            secret: "roost-twitter-secret",
            grants: grants,
            clock: parts.clock
        )
        hooks = TwitterWebhooks(parts.calls, community: community, secret: "roost-twitter-secret", clock: clock)
        for person in community.people { _ = account(person) }
        hooks.listen()
    }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        if case .unknown = grants.find(token) {
            var grant = Grants.Grant(person: person.number, app: clientID, scopes: Self.scopes)
            grant.secret = "\(token)-secret"
            grant.refresh = "\(token)-refresh"
            grants.put(token, grant)
        }
        return NetworkAccount(
            name: person.name,
            id: String(person.id),
            accessToken: token,
            accessTokenSecret: "\(token)-secret",
            refreshToken: "\(token)-refresh"
        )
    }

    static let scopes: Set<String> = [
        "tweet.read", "tweet.write", "users.read", "dm.read", "dm.write", "like.read", "like.write", "media.write",
        "offline.access", "users.email",
    ]

    var deliveries: WebhookSender? { hooks.deliveries }

    // MARK: Authentication

    func caller(of request: NetworkRequest) throws -> Caller? {
        let path = request.path.joined(separator: "/")
        let isOpen = ["oauth/", "oauth2/", "i/oauth2/", "2/oauth2/"].contains { path.hasPrefix($0) }
        guard !isOpen else { return nil }
        let isV2 = request.path.first == "2"
        if OAuth1Validator.isSigned(request) { return try signed(request, isV2: isV2) }
        guard let token = request.bearer else {
            throw isV2 ? Self.problem(401, "Unauthorized") : Self.apiError(215, "Bad Authentication data.", .badRequest)
        }
        if token == "\(clientID)-app-token" {
            return Caller(person: .anonymous, token: token, scopes: ["app"], app: clientID)
        }
        do {
            let caller = try caller(token: token)
            guard isV2 else {
                throw Self.apiError(220, "Your credentials do not allow access to this resource.", .forbidden)
            }
            return caller
        } catch is GrantError {
            throw isV2
                ? Self.problem(401, "Unauthorized") : Self.apiError(89, "Invalid or expired token.", .unauthorized)
        }
    }

    private func signed(_ request: NetworkRequest, isV2: Bool) throws -> Caller {
        do {
            let signed = try oauth1.validate(request)
            guard let token = signed.token else { throw OAuth1Validator.Violation.token }
            return try caller(token: token)
        } catch OAuth1Validator.Violation.timestamp where !isV2 {
            throw Self.apiError(135, "Timestamp out of bounds.", .unauthorized)
        } catch OAuth1Validator.Violation.token where !isV2 {
            throw Self.apiError(89, "Invalid or expired token.", .unauthorized)
        } catch is GrantError where !isV2 {
            throw Self.apiError(89, "Invalid or expired token.", .unauthorized)
        } catch {
            throw isV2
                ? Self.problem(401, "Unauthorized") : Self.apiError(32, "Could not authenticate you.", .unauthorized)
        }
    }

    // MARK: Rate limits and errors

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        guard caller != nil else { return nil }
        let path = request.path.joined(separator: "/").replacing(".json", with: "")
        let quarter: TimeInterval = 900
        switch (request.method, path) {
        case (_, "1.1/statuses/home_timeline"): return RateBudget(name: path, limit: 15, window: quarter)
        case (_, "1.1/statuses/mentions_timeline"): return RateBudget(name: path, limit: 75, window: quarter)
        case (.GET, let path) where path.hasPrefix("1.1/direct_messages"):
            return RateBudget(name: path, limit: 15, window: quarter)
        case (.POST, "1.1/statuses/update"): return RateBudget(name: path, limit: 300, window: 10_800)
        case (.GET, let path) where path.hasPrefix("1.1/"): return RateBudget(name: path, limit: 180, window: quarter)
        case (_, let path) where path.hasSuffix("/reverse_chronological"):
            return RateBudget(name: "timeline", limit: 180, window: quarter)
        case (_, let path) where path.hasSuffix("/mentions"):
            return RateBudget(name: "mentions", limit: 300, window: quarter)
        case (.GET, let path) where path.contains("dm_"): return RateBudget(name: "dm", limit: 15, window: quarter)
        case (.POST, let path) where path.contains("dm_"):
            return RateBudget(name: "dm post", limit: 15, window: quarter)
        case (.POST, "2/tweets"): return RateBudget(name: "tweets", limit: 100, window: quarter)
        case (.POST, let path) where path.hasSuffix("/likes"):
            return RateBudget(name: "likes", limit: 50, window: quarter)
        case (_, "2/users/me"): return RateBudget(name: "me", limit: 75, window: quarter)
        case (_, let path) where path.contains("media/upload"):
            return RateBudget(name: "media", limit: 500, window: quarter)
        default: return RateBudget(name: "rest", limit: 900, window: quarter)
        }
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders {
        [
            "x-rate-limit-limit": String(limitStatus.limit), "x-rate-limit-remaining": String(limitStatus.remaining),
            "x-rate-limit-reset": String(Int(limitStatus.resetsAt.timeIntervalSince1970)),
        ]
    }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        let isV2 = request.path.first == "2"
        switch failure {
        case .limited(let time):
            var response =
                isV2
                ? Self.problem(429, "Too Many Requests").response
                : Self.apiError(88, "Rate limit exceeded", .tooManyRequests).response
            response.headers.add(name: "x-rate-limit-limit", value: "15")
            response.headers.add(name: "x-rate-limit-remaining", value: "0")
            response.headers.add(name: "x-rate-limit-reset", value: String(Int(time.timeIntervalSince1970)))
            return response
        case .unavailable(let status):
            return isV2
                ? Self.problem(status, "Service Unavailable").response
                : Self.apiError(status == 503 ? 130 : 131, "Over capacity", HTTPResponseStatus(statusCode: status))
                    .response
        case .expired:
            return isV2
                ? Self.problem(401, "Unauthorized").response
                : Self.apiError(89, "Invalid or expired token.", .unauthorized).response
        case .other(let status, let reason):
            // A numeric reason is one of Twitter's own codes.
            return isV2
                ? Self.problem(status, reason).response
                : Self.apiError(Int(reason) ?? 131, reason, HTTPResponseStatus(statusCode: status)).response
        case .notFound:
            return isV2
                ? Self.problem(404, "Not Found Error").response
                : Self.apiError(34, "Sorry, that page does not exist.", .notFound).response
        }
    }

    static func apiError(_ code: Int, _ message: String, _ status: HTTPResponseStatus) -> NetworkErrorResponse {
        let error: JSONValue = ["code": .int(code), "message": .string(message)]
        return NetworkErrorResponse(.jsonValue(["errors": [error]], status), String(code))
    }

    static func problem(
        _ status: Int,
        _ title: String,
        type: String = "about:blank",
        detail: String? = nil
    )
        -> NetworkErrorResponse
    {
        let problem: JSONValue = [
            "title": .string(title), "type": .string(type), "status": .int(status), "detail": .string(detail ?? title),
        ]
        var response = WebResponse.jsonValue(problem, HTTPResponseStatus(statusCode: status))
        response.headers.replaceOrAdd(name: "content-type", value: "application/problem+json")
        return NetworkErrorResponse(response, title)
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        var path = request.path
        if let last = path.last, last.hasSuffix(".json") { path[path.count - 1].removeLast(5) }
        if ["oauth", "i", "oauth2"].contains(path.first) || path.starts(with: ["2", "oauth2"]) {
            return .response(try authorization(request, path) ?? errorResponse(.notFound, of: request))
        }
        guard let caller, let version = path.first else { return .response(errorResponse(.notFound, of: request)) }
        path.removeFirst()
        if version == "1.1", path.starts(with: ["account_activity"]) || path.first == "webhooks" {
            return try webhooks(request, path, by: caller)
        }
        if version == "2", path.first == "webhooks" || path.first == "account_activity" {
            return try webhooks(request, path, by: caller)
        }
        let response = version == "2" ? try v2(request, path, by: caller) : try v1(request, path, by: caller)
        return .response(response ?? errorResponse(.notFound, of: request))
    }
}
