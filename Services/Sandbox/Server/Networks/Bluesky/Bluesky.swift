import Foundation
import NIOHTTP1
import Wire

/// A personal data server (PDS) of the AT Protocol, with the Bluesky methods that a PDS forwards: sessions, records,
/// timelines and chat.
struct Bluesky: FakeNetwork {
    let service = SandboxService.bluesky
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore
    let records = BlueskyRecords()
    let bound: BlueskyGrants

    static let full = "com.atproto.access"
    static let appPassword = "com.atproto.appPass"
    static let privileged = "com.atproto.appPassPrivileged"

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(offset: 47, ids: .microseconds)
        grants = Grants(clock: parts.clock)
        bound = BlueskyGrants(clock: parts.clock)
        for person in community.people { _ = account(person) }
    }

    func account(_ person: Person) -> NetworkAccount {
        let did = BlueskyNames.did(person)
        // These tokens are valid until 2100, for clients that do not create a session.
        let claims: JSONValue = ["scope": .string(Self.privileged), "sub": .string(did), "exp": 4_102_444_800]
        let token = BlueskyNames.jwt(claims, type: "at+jwt")
        let refresh = BlueskyNames.jwt(claims.with(["scope": "com.atproto.refresh"]), type: "refresh+jwt")
        if case .unknown = grants.find(token) {
            grants.put(
                token,
                Grants.Grant(person: person.number, app: "", scopes: [Self.privileged], refresh: refresh)
            )
        }
        return NetworkAccount(
            name: person.name,
            id: did,
            accessToken: token,
            refreshToken: refresh,
            password: "\(person.name)-app-pass-word"
        )
    }

    // MARK: Authentication

    private static let open: Set<String> = [
        "com.atproto.server.createSession", "com.atproto.server.refreshSession", "com.atproto.server.deleteSession",
        "com.atproto.server.describeServer", "com.atproto.identity.resolveHandle", "_health",
        "app.bsky.video.uploadVideo", "app.bsky.video.getJobStatus",
    ]

    func caller(of request: NetworkRequest) throws -> Caller? {
        guard let method = Self.method(request), !Self.open.contains(method) else { return nil }
        if let token = request.bound {
            let caller = try caller(bound: token, request)
            if method.hasPrefix("chat.bsky.") { try checkChat(request, caller) }
            return caller
        }
        guard let token = request.bearer else {
            throw Self.apiError("AuthMissing", "Authentication Required", .unauthorized)
        }
        guard bound.key(of: token) == nil else { throw Self.apiError("InvalidToken", "Malformed token", .unauthorized) }
        do {
            let caller = try caller(token: token)
            if method.hasPrefix("chat.bsky.") { try checkChat(request, caller) }
            return caller
        } catch GrantError.expired {
            throw Self.apiError("ExpiredToken", "Token has expired")
        } catch GrantError.unknown {
            throw Self.apiError("InvalidToken", "Token could not be verified")
        }
    }

    private func checkChat(_ request: NetworkRequest, _ caller: Caller) throws {
        guard request.headers.first(name: "atproto-proxy") == "did:web:api.bsky.chat#bsky_chat" else {
            throw Self.apiError("XRPCNotSupported", "XRPCNotSupported", .notFound)
        }
        guard !caller.scopes.contains(Self.appPassword) else {
            throw Self.apiError("InvalidToken", "Bad token method")
        }
        guard !caller.scopes.contains("atproto") || caller.scopes.contains("transition:chat.bsky") else {
            throw Self.apiError("ScopeMissingError", "Missing required scope \"transition:chat.bsky\"", .forbidden)
        }
    }

    static func method(_ request: NetworkRequest) -> String? {
        guard request.path.count == 2, request.path[0] == "xrpc" else { return nil }
        return request.path[1]
    }

    // MARK: Rate limits and errors

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        switch Self.method(request) {
        case "com.atproto.server.createSession":
            RateBudget(name: "login \(request["identifier"] ?? "")", limit: 30, window: 300)
        case "com.atproto.repo.createRecord": RateBudget(name: "writes", limit: 5_000, window: 3_600, cost: 3)
        case "com.atproto.repo.putRecord": RateBudget(name: "writes", limit: 5_000, window: 3_600, cost: 2)
        case "com.atproto.repo.deleteRecord": RateBudget(name: "writes", limit: 5_000, window: 3_600)
        default: RateBudget(name: "all", limit: 3_000, window: 300)
        }
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders {
        [
            "ratelimit-limit": String(limitStatus.limit), "ratelimit-remaining": String(limitStatus.remaining),
            "ratelimit-reset": String(Int(limitStatus.resetsAt.timeIntervalSince1970)),
            "ratelimit-policy": "\(limitStatus.limit);w=\(Int(limitStatus.window))",
        ]
    }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        switch failure {
        case .limited(let time):
            var response = Self.error("RateLimitExceeded", "Rate Limit Exceeded", .tooManyRequests)
            response.headers.add(name: "ratelimit-limit", value: "3000")
            response.headers.add(name: "ratelimit-remaining", value: "0")
            response.headers.add(name: "ratelimit-reset", value: String(Int(time.timeIntervalSince1970)))
            response.headers.add(name: "ratelimit-policy", value: "3000;w=300")
            return response
        case .unavailable(let status):
            return Self.error("UpstreamFailure", "Upstream Failure", HTTPResponseStatus(statusCode: status))
        case .expired: return Self.error("ExpiredToken", "Token has expired")
        case .other(let status, let reason):
            return Self.error(reason, reason, HTTPResponseStatus(statusCode: status))
        case .notFound: return Self.error("XRPCNotSupported", "XRPCNotSupported", .notFound)
        }
    }

    static func error(_ name: String, _ message: String, _ status: HTTPResponseStatus = .badRequest) -> WebResponse {
        .jsonValue(["error": .string(name), "message": .string(message)], status)
    }

    static func apiError(
        _ name: String,
        _ message: String,
        _ status: HTTPResponseStatus = .badRequest
    ) -> NetworkErrorResponse {
        NetworkErrorResponse(error(name, message, status), name)
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        guard let method = Self.method(request) else { return .response(try page(request)) }
        guard request.method == (Self.isQuery(method) ? .GET : .POST) else {
            throw Self.apiError("InvalidRequest", "Incorrect HTTP method", .methodNotAllowed)
        }
        let response: WebResponse?
        if method.hasPrefix("com.atproto.server.") || method.hasPrefix("com.atproto.identity.") {
            response = try sessions(method, request, by: caller)
        } else if method.hasPrefix("app.bsky.video.") {
            response = try video(method, request, by: caller)
        } else if let caller {
            switch method.split(separator: ".").prefix(3).joined(separator: ".") {
            case "com.atproto.repo": response = try repo(method, request, by: caller)
            case "chat.bsky.convo": response = try chat(method, request, by: caller)
            default: response = try reading(method, request, by: caller)
            }
        } else {
            response = nil
        }
        return .response(response ?? errorResponse(.notFound, of: request))
    }

    private static func isQuery(_ method: String) -> Bool {
        let name = method.split(separator: ".").last ?? ""
        return ["get", "list", "resolve", "describe", "_health"].contains { name.hasPrefix($0) }
    }
}
