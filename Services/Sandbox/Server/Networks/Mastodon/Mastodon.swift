import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// A Mastodon instance of version 4.7.
///
/// Apps register themselves, ids are times, and `Link` fields name further pages.
struct Mastodon: FakeNetwork {
    let service = SandboxService.mastodon
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore
    let apps = MastodonApps()
    let keys = MastodonIdempotencyKeys()

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(offset: 0, ids: .timed(epoch: 0, shift: 16))
        grants = Grants(clock: parts.clock)
        for person in community.people { _ = account(person) }
    }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        let scopes: Set<String> = ["read", "write", "follow", "push"]
        if case .unknown = grants.find(token) {
            grants.put(token, Grants.Grant(person: person.number, app: "roost", scopes: scopes))
        }
        return NetworkAccount(name: person.name, id: String(person.id), accessToken: token)
    }

    // MARK: Authentication

    private static let open: Set<String> = [
        "api/v1/apps", "api/v1/instance", "api/v2/instance", "oauth/authorize", "oauth/token", "oauth/revoke",
        "api/v1/streaming/health", "nodeinfo/2.0", ".well-known/nodeinfo",
    ]

    func caller(of request: NetworkRequest) throws -> Caller? {
        let path = request.path.joined(separator: "/")
        guard !Self.open.contains(path) else { return nil }
        // Browsers cannot set headers of a WebSocket request, so the query or the subprotocol carries the token.
        let streaming = path.hasPrefix("api/v1/streaming")
        let protocolToken = request.headers.first(name: "sec-websocket-protocol")
        let inQuery = streaming ? request["access_token"] ?? protocolToken : nil
        guard let token = request.bearer ?? inQuery else {
            throw NetworkErrorResponse(Self.error("The access token is invalid", .unauthorized), "unauthorized")
        }
        do {
            let caller = try caller(token: token)
            try check(caller, request)
            return caller
        } catch is GrantError {
            throw NetworkErrorResponse(Self.error("The access token is invalid", .unauthorized), "unauthorized")
        }
    }

    private func check(_ caller: Caller, _ request: NetworkRequest) throws {
        let needed = request.method == .GET || request.method == .HEAD ? "read" : "write"
        guard caller.scopes.contains(where: { $0 == needed || $0.hasPrefix("\(needed):") }) else {
            throw NetworkErrorResponse(Self.error("This action is outside the authorized scopes", .forbidden), "scope")
        }
    }

    // MARK: Rate limits and errors

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        let path = request.path.joined(separator: "/")
        switch (request.method, path) {
        case (.POST, "api/v1/statuses"): return RateBudget(name: "posts", limit: 300, window: 10_800)
        case (.POST, "api/v1/media"), (.POST, "api/v2/media"):
            return RateBudget(name: "media", limit: 30, window: 1_800)
        case (.DELETE, _): return RateBudget(name: "deletes", limit: 30, window: 1_800)
        case (.POST, "api/v1/apps"): return RateBudget(name: "apps", limit: 5, window: 600)
        case (_, let path) where path.hasPrefix("api/v1/streaming") || path.hasPrefix("oauth"): return nil
        default: return RateBudget(name: "all", limit: 300, window: 300)
        }
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders {
        [
            "x-ratelimit-limit": String(limitStatus.limit), "x-ratelimit-remaining": String(limitStatus.remaining),
            "x-ratelimit-reset": Timestamp.string(from: limitStatus.resetsAt),
        ]
    }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        switch failure {
        case .limited(let time):
            var response = Self.error("Too many requests", .tooManyRequests)
            response.headers.add(name: "x-ratelimit-limit", value: "300")
            response.headers.add(name: "x-ratelimit-remaining", value: "0")
            response.headers.add(name: "x-ratelimit-reset", value: Timestamp.string(from: time))
            return response
        case .unavailable(let status):
            return Self.error("Remote data could not be fetched", HTTPResponseStatus(statusCode: status))
        case .expired: return Self.error("The access token has expired", .unauthorized)
        case .other(let status, let reason): return Self.error(reason, HTTPResponseStatus(statusCode: status))
        case .notFound: return Self.error("Record not found", .notFound)
        }
    }

    static func error(_ text: String, _ status: HTTPResponseStatus) -> WebResponse {
        .jsonValue(["error": .string(text)], status)
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        if request.path.first == "oauth" { return .response(try authorization(request)) }
        guard request.path.count > 2, request.path[0] == "api" else {
            guard request.path.contains("nodeinfo") || request.path.first == "nodeinfo" else { return missing(request) }
            return .response(nodeInfo(request))
        }
        let path = Array(request.path.dropFirst(2))
        switch (request.method, path[0]) {
        case (.POST, "apps"): return .response(register(request))
        case (.GET, "instance"): return .response(instance(request))
        default: break
        }
        guard let caller else { return path.last == "health" ? .response(Self.healthy) : missing(request) }
        let response: WebResponse?
        switch path[0] {
        case "streaming": return streaming(request, by: caller)
        case "statuses": response = try statuses(request, path, by: caller)
        case "media": response = try attachments(request, path, by: caller)
        case "accounts": response = accounts(request, path, by: caller)
        case "timelines", "conversations", "notifications", "markers":
            response = reading(request, path, by: caller)
        default: response = nil
        }
        return response.map { .response($0) } ?? missing(request)
    }

    private static let healthy = WebResponse(
        .ok,
        headers: ["content-type": "text/plain"],
        body: ByteBuffer(string: "OK")
    )

    private func missing(_ request: NetworkRequest) -> ResponseAction {
        .response(errorResponse(.notFound, of: request))
    }

    private func nodeInfo(_ request: NetworkRequest) -> WebResponse {
        guard request.path.first == ".well-known" else {
            return .jsonValue(["version": "2.0", "software": ["name": "mastodon", "version": "4.7.3"]])
        }
        let link: JSONValue = [
            "rel": "http://nodeinfo.diaspora.software/ns/schema/2.0", "href": .string("\(request.base)/nodeinfo/2.0"),
        ]
        return .jsonValue(["links": [link]])
    }

    private func instance(_ request: NetworkRequest) -> WebResponse {
        let streaming = request.base.replacing("http", with: "ws", maxReplacements: 1)
        let limits: JSONValue = [
            "statuses": ["max_characters": 500, "max_media_attachments": 4, "characters_reserved_per_url": 23],
            "media_attachments": [
                "supported_mime_types": ["image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4"],
                "image_size_limit": 16_777_216, "video_size_limit": 103_809_024, "description_limit": 1_500,
            ],
            "urls": ["streaming": .string(streaming)],
        ]
        let common: JSONValue = [
            "title": "Sandbox", "version": "4.7.3", "languages": ["en"], "configuration": limits, "rules": [],
        ]
        guard request.path[1] == "v2" else {
            return .jsonValue(
                common.with([
                    "uri": "sandbox", "description": "A sandbox", "short_description": "A sandbox",
                    "email": "sandbox@example.org", "urls": ["streaming_api": .string(streaming)],
                    "stats": ["user_count": 12, "status_count": 400, "domain_count": 1], "registrations": false,
                ])
            )
        }
        return .jsonValue(
            common.with([
                "domain": "sandbox", "description": "A sandbox", "api_versions": ["mastodon": 8],
                "registrations": ["enabled": false],
            ])
        )
    }
}
