import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// The social networks, each below a path of its name: found by that, and given what is the same of all.
package final class Networks: Sendable {
    package let clock: SandboxClock
    let script: Script
    let seen: SeenNotifications
    let windows = RateWindows()
    let media = SeededMedia()
    let calls = OutgoingCalls()
    let broadcasts: Broadcasts
    let played: [String: any PlayedNetwork]

    init(
        script: Script,
        seen: SeenNotifications,
        accounts: DeveloperAccounts,
        now: @escaping @Sendable () -> Date,
        posts: Int
    ) {
        let clock = SandboxClock(now)
        self.clock = clock
        self.script = script
        self.seen = seen
        broadcasts = Broadcasts(clock: clock)
        let parts = NetworkParts(clock: clock, media: media, calls: calls, posts: posts)
        let all: [any PlayedNetwork] = [
            Mastodon(parts), Bluesky(parts), Reddit(parts), Twitter(parts), Tumblr(parts), Facebook(parts),
            Instagram(parts), Vine(parts),
            RPAN(parts, broadcasts: broadcasts), OpenIDIssuer(.google, .google, parts),
            OpenIDIssuer(.apple, .apple(accounts), parts),
        ]
        played = Dictionary(uniqueKeysWithValues: all.map { ($0.service.rawValue, $0) })
    }

    func stop() async {
        for network in played.values { network.deliveries?.stop() }
        await calls.stop()
    }

    // MARK: Which one

    /// Whether a path is a network's, and a body may be a video.
    func isNetwork(_ uri: String) -> Bool {
        let first = uri.drop { $0 == "/" }.prefix { $0 != "/" && $0 != "?" }
        return played[String(first)] != nil || Self.roots[String(first)] != nil
    }

    /// Paths at the sandbox's own root, for clients that cannot be told of a path before theirs.
    private static let roots: [String: String] = ["api": "mastodon", "oauth": "mastodon", "xrpc": "bluesky"]

    func reply(to request: WebRequest, at path: [String]) throws -> WebReply? {
        guard let first = path.first else { return nil }
        if let network = played[first] {
            return try reply(to: request, of: network, prefix: "/\(first)", path: Array(path.dropFirst()))
        }
        guard let network = Self.roots[first].flatMap({ played[$0] }) else { return nil }
        return try reply(to: request, of: network, prefix: "", path: path)
    }

    private func reply(
        to web: WebRequest,
        of network: any PlayedNetwork,
        prefix: String,
        path: [String]
    ) throws -> WebReply {
        var request = try NetworkRequest(web, prefix: prefix, path: path)
        var fields: HTTPHeaders = [:]
        do {
            let caller = try network.caller(of: request)
            if let budget = network.budget(for: request, by: caller) {
                let standing = windows.take(
                    budget,
                    of: caller?.person.name ?? caller?.app ?? "",
                    on: network.service,
                    at: clock.now
                )
                fields = network.fields(of: standing, at: clock.now)
                guard !standing.isOver else {
                    let answer = network.refusal(.limited(until: standing.resetsAt), of: request)
                    throw NetworkRefusal(answer, "limited")
                }
            }
            let place = request.path.joined(separator: "/")
            guard let rule = script.follow(network.service, token: caller?.person.name ?? "", path: place) else {
                return try network.reply(to: request, by: caller).adding(fields)
            }
            if rule.behaviour == .empty { request.comesEmpty = true }
            return try follow(rule, for: request, by: caller, of: network).adding(fields)
        } catch let refusal as NetworkRefusal {
            seen.refuse(network.service, status: Int(refusal.answer.status.code), reason: refusal.reason)
            return WebReply.answer(refusal.answer).adding(fields)
        }
    }

    // MARK: Scripts

    private func follow(
        _ rule: ScriptRule,
        for request: NetworkRequest,
        by caller: Caller?,
        of network: any PlayedNetwork
    ) throws -> WebReply {
        let own = { try network.reply(to: request, by: caller) }
        guard !rule.isLenient, rule.behaviour != .empty else {
            // Its delay is all that it takes, with making the answer.
            let began = NIODeadline.now()
            let answer = try own()
            return answer.delayed(by: rule.pause.map { max(.zero, $0 - (.now() - began)) })
        }
        if rule.accepts == true { _ = try own() }
        switch rule.behaviour {
        case .silence: return .silence
        case .reset, .goaway: return .reset(after: rule.pause)
        case .cut:
            guard case .answer(let answer, _) = try own() else { return .reset() }
            return .cut(answer, after: rule.pause)
        case .malformed:
            guard case .answer(var answer, _) = try own() else { return .reset() }
            answer.body.moveWriterIndex(to: answer.body.readerIndex + answer.body.readableBytes * 2 / 3)
            return .answer(answer, after: rule.pause)
        case .large: return .answer(Self.large, after: rule.pause)
        case .html: return .answer(.html(Self.page, status: HTTPResponseStatus(statusCode: rule.status ?? 502)))
        case .empty: return try own()
        case .expire:
            if let caller { network.grants.expire(caller.token) }
            throw NetworkRefusal(network.refusal(.expired, of: request), "expired")
        case .answer: break
        }
        let status = rule.status ?? 400
        let failure: NetworkFailure =
            switch status {
            case 429: .limited(until: clock.now + Double(rule.retryAfter ?? 60))
            case 401 where rule.reason == nil || rule.reason == "expired": .expired
            case 404 where rule.reason == nil: .nothing
            case 500...: .unwell(status)
            default: .other(status, reason: rule.reason ?? "Scripted")
            }
        seen.refuse(network.service, status: status, reason: rule.reason ?? "scripted")
        return .answer(network.refusal(failure, of: request), after: rule.pause)
    }

    private static let page = """
        <!doctype html><html><head><title>502 Bad Gateway</title></head>
        <body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>
        """

    /// A JSON text of 50 MB, made once.
    private static let large = WebAnswer(
        .ok,
        headers: ["content-type": "application/json"],
        body: ByteBuffer(string: "[\"" + String(repeating: "x", count: 50_000_000) + "\"]")
    )
}

/// What every network is made with.
struct NetworkParts: Sendable {
    let clock: SandboxClock
    let media: SeededMedia
    let calls: OutgoingCalls
    let posts: Int

    func community(
        offset: TimeInterval,
        ids: IDMaker,
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

extension WebReply {
    fileprivate func adding(_ fields: HTTPHeaders) -> WebReply {
        guard !fields.isEmpty, case .answer(var answer, let pause) = self else { return self }
        for field in fields where !answer.headers.contains(name: field.name) {
            answer.headers.add(name: field.name, value: field.value)
        }
        return .answer(answer, after: pause)
    }

    fileprivate func delayed(by pause: TimeAmount?) -> WebReply {
        guard let pause, case .answer(let answer, _) = self else { return self }
        return .answer(answer, after: pause)
    }
}
