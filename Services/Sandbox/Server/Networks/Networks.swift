import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// The social networks, each below a path of its name.
///
/// Rate limits and script rules are applied here for all of them.
package final class Networks: Sendable {
    package let clock: SandboxClock
    let script: Script
    let received: ReceivedNotifications
    let windows = RateWindows()
    let media = MediaStore()
    let calls = OutgoingRequests()
    let broadcasts: Broadcasts
    let networksByName: [String: any FakeNetwork]

    init(
        script: Script,
        received: ReceivedNotifications,
        accounts: DeveloperAccounts,
        now: @escaping @Sendable () -> Date,
        posts: Int
    ) {
        let clock = SandboxClock(now)
        self.clock = clock
        self.script = script
        self.received = received
        broadcasts = Broadcasts(clock: clock)
        let parts = NetworkParts(clock: clock, media: media, calls: calls, posts: posts)
        let all: [any FakeNetwork] = [
            Mastodon(parts), Bluesky(parts), Reddit(parts), Twitter(parts), Tumblr(parts), Facebook(parts),
            Instagram(parts), Vine(parts),
            RPAN(parts, broadcasts: broadcasts), OpenIDIssuer(.google, .google, parts),
            OpenIDIssuer(.apple, .apple(accounts), parts),
        ]
        networksByName = Dictionary(uniqueKeysWithValues: all.map { ($0.service.rawValue, $0) })
    }

    func stop() async {
        for network in networksByName.values { network.deliveries?.stop() }
        await calls.stop()
    }

    // MARK: Routing

    /// Returns whether a path belongs to a network, whose bodies may be as large as a video.
    func isNetwork(_ uri: String) -> Bool {
        let first = uri.drop { $0 == "/" }.prefix { $0 != "/" && $0 != "?" }
        return networksByName[String(first)] != nil || Self.roots[String(first)] != nil
    }

    /// Networks at the root of the sandbox, for clients that cannot use a base path.
    private static let roots: [String: String] = ["api": "mastodon", "oauth": "mastodon", "xrpc": "bluesky"]

    func reply(to request: WebRequest, at path: [String]) throws -> ResponseAction? {
        guard let first = path.first else { return nil }
        if let network = networksByName[first] {
            return try reply(to: request, of: network, prefix: "/\(first)", path: Array(path.dropFirst()))
        }
        guard let network = Self.roots[first].flatMap({ networksByName[$0] }) else { return nil }
        return try reply(to: request, of: network, prefix: "", path: path)
    }

    private func reply(
        to web: WebRequest,
        of network: any FakeNetwork,
        prefix: String,
        path: [String]
    ) throws -> ResponseAction {
        var request = try NetworkRequest(web, prefix: prefix, path: path)
        var fields: HTTPHeaders = [:]
        do {
            let caller = try network.caller(of: request)
            if let budget = network.budget(for: request, by: caller) {
                let limitStatus = windows.count(
                    budget,
                    of: caller?.person.name ?? caller?.app ?? "",
                    on: network.service,
                    at: clock.now
                )
                fields = network.fields(of: limitStatus, at: clock.now)
                guard !limitStatus.isOver else {
                    let response = network.errorResponse(.limited(until: limitStatus.resetsAt), of: request)
                    throw NetworkErrorResponse(response, "limited")
                }
            }
            let joinedPath = request.path.joined(separator: "/")
            guard let rule = script.follow(network.service, token: caller?.person.name ?? "", path: joinedPath) else {
                return try network.reply(to: request, by: caller).adding(fields)
            }
            if rule.behaviour == .empty { request.returnsEmptyPage = true }
            return try follow(rule, for: request, by: caller, of: network).adding(fields)
        } catch let errorResponse as NetworkErrorResponse {
            received.reject(
                network.service,
                status: Int(errorResponse.response.status.code),
                reason: errorResponse.reason
            )
            return ResponseAction.response(errorResponse.response).adding(fields)
        }
    }

    // MARK: Scripts

    private func follow(
        _ rule: ScriptRule,
        for request: NetworkRequest,
        by caller: Caller?,
        of network: any FakeNetwork
    ) throws -> ResponseAction {
        let own = { try network.reply(to: request, by: caller) }
        guard !rule.isLenient, rule.behaviour != .empty else {
            // The rule's delay is the total response time, so the time to make the response counts.
            let began = NIODeadline.now()
            let response = try own()
            return response.delayed(by: rule.pause.map { max(.zero, $0 - (.now() - began)) })
        }
        if rule.accepts == true { _ = try own() }
        switch rule.behaviour {
        case .silence: return .silence
        case .reset, .goaway: return .reset(after: rule.pause)
        case .cut:
            guard case .response(let response, _) = try own() else { return .reset() }
            return .cut(response, after: rule.pause)
        case .malformed:
            guard case .response(var response, _) = try own() else { return .reset() }
            response.body.moveWriterIndex(to: response.body.readerIndex + response.body.readableBytes * 2 / 3)
            return .response(response, after: rule.pause)
        case .large: return .response(Self.large, after: rule.pause)
        case .html: return .response(.html(Self.page, status: HTTPResponseStatus(statusCode: rule.status ?? 502)))
        case .empty: return try own()
        case .expire:
            if let caller { network.grants.expire(caller.token) }
            throw NetworkErrorResponse(network.errorResponse(.expired, of: request), "expired")
        case .response: break
        }
        let status = rule.status ?? 400
        let failure: NetworkFailure =
            switch status {
            case 429: .limited(until: clock.now + Double(rule.retryAfter ?? 60))
            case 401 where rule.reason == nil || rule.reason == "expired": .expired
            case 404 where rule.reason == nil: .notFound
            case 500...: .unavailable(status)
            default: .other(status, reason: rule.reason ?? "Scripted")
            }
        received.reject(network.service, status: status, reason: rule.reason ?? "scripted")
        return .response(network.errorResponse(failure, of: request), after: rule.pause)
    }

    private static let page = """
        <!doctype html><html><head><title>502 Bad Gateway</title></head>
        <body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>
        """

    /// A JSON document of 50 MB, created once.
    private static let large = WebResponse(
        .ok,
        headers: ["content-type": "application/json"],
        body: ByteBuffer(string: "[\"" + String(repeating: "x", count: 50_000_000) + "\"]")
    )
}

struct NetworkParts: Sendable {
    let clock: SandboxClock
    let media: MediaStore
    let calls: OutgoingRequests
    let posts: Int

    func community(
        offset: TimeInterval,
        ids: IDGenerator,
        rooms: [String] = [],
        mustHave: Attachment.Kind? = nil
    ) -> Community {
        var seed = CommunitySeed(offset: offset)
        seed.posts = posts
        seed.rooms = rooms
        seed.mustHave = mustHave
        return Community(seed: seed, ids: ids, clock: clock)
    }
}

extension ResponseAction {
    fileprivate func adding(_ fields: HTTPHeaders) -> ResponseAction {
        guard !fields.isEmpty, case .response(var response, let pause) = self else { return self }
        for field in fields where !response.headers.contains(name: field.name) {
            response.headers.add(name: field.name, value: field.value)
        }
        return .response(response, after: pause)
    }

    fileprivate func delayed(by pause: TimeAmount?) -> ResponseAction {
        guard let pause, case .response(let response, _) = self else { return self }
        return .response(response, after: pause)
    }
}
