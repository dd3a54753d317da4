import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import Wire

/// Vine as it was: sessions instead of OAuth, an envelope, pages pinned by an anchor, videos alone.
struct Vine: PlayedNetwork {
    let service = SandboxService.vine
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: SeededMedia

    init(_ parts: NetworkParts) {
        clock = parts.clock
        media = parts.media
        community = parts.community(
            offset: 263,
            ids: .serial(from: 1_165_000_000_000_000_000, step: 1_048_583),
            mustHave: .video
        )
        grants = Grants(clock: parts.clock)
        for person in community.people { _ = account(person) }
    }

    func account(_ person: Person) -> NetworkAccount {
        let token = fixedToken(person)
        if case .unknown = grants.find(token) {
            grants.put(token, Grants.Grant(person: person.number, app: clientID, scopes: []))
        }
        return NetworkAccount(
            name: person.name,
            id: String(VineView.id(of: person)),
            accessToken: token,
            password: "\(person.name)-password"
        )
    }

    // MARK: Who asks

    func caller(of request: NetworkRequest) throws -> Caller? {
        if request.path == ["users", "authenticate"], request.method == .POST { return nil }
        guard let key = request.headers.first(name: "vine-session-id"), let caller = try? caller(token: key) else {
            // Silence: whatever is wrong with the key, nobody is signed in.
            throw Self.flaw(.unauthorized, 103, "Authenticate first")
        }
        return caller
    }

    // MARK: Limits and refusals

    /// Unpublished; clients have met 420.
    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        RateBudget(name: "all", limit: 1_000, window: 3_600)
    }

    func fields(of standing: RateStanding, at time: Date) -> HTTPHeaders { [:] }

    func refusal(_ failure: NetworkFailure, of request: NetworkRequest) -> WebAnswer {
        switch failure {
        case .limited: Self.flaw(HTTPResponseStatus(statusCode: 420), 420, "Enhance your calm").answer
        case .unwell(let status): .html("<h1>\(status)</h1>", status: HTTPResponseStatus(statusCode: status))
        case .expired: Self.flaw(.unauthorized, 103, "Authenticate first").answer
        case .other(let status, let reason):
            Self.flaw(HTTPResponseStatus(statusCode: status), Int(reason) ?? 1, reason).answer
        case .nothing: Self.flaw(.notFound, 900, "That record does not exist.").answer
        }
    }

    static func envelope(_ data: JSONValue) -> WebAnswer {
        var answer = WebAnswer.written(["code": "", "data": data, "success": true, "error": ""])
        answer.headers.add(name: "cache-control", value: "private, no-store")
        return answer
    }

    static func flaw(_ status: HTTPResponseStatus, _ code: Int, _ text: String) -> NetworkRefusal {
        let body: JSONValue = ["code": .int(code), "data": "", "success": false, "error": .string(text)]
        return NetworkRefusal(.written(body, status), String(code))
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> WebReply {
        guard let caller else { return .answer(try signIn(request)) }
        let view = VineView(community: community, origin: request.origin, viewer: caller.person)
        let answer = request.path.first == "upload" ? try store(request, caller) : try answer(request, view, caller)
        return .answer(answer ?? refusal(.nothing, of: request))
    }

    private func signIn(_ request: NetworkRequest) throws -> WebAnswer {
        let name = request["username"].map { String($0.prefix { $0 != "@" }) }
        guard let person = name.flatMap({ community.person(named: $0) }),
            request["username"] == "\(person.name)@example.org", request["password"] == "\(person.name)-password"
        else { throw Self.flaw(.badRequest, 101, "The username or password you entered is incorrect.") }
        let key = "\(VineView.id(of: person))-\(UUID().uuidString.lowercased())"
        grants.put(key, Grants.Grant(person: person.number, app: clientID, scopes: []))
        return Self.envelope([
            "username": .string(person.displayName), "userId": .integer(VineView.id(of: person)), "key": .string(key),
            "avatarUrl": .string("\(request.origin)/sandbox/media/500001"), "edition": "US",
        ])
    }

    private func answer(_ request: NetworkRequest, _ view: VineView, _ caller: Caller) throws -> WebAnswer? {
        let path = request.path
        let own = caller.person
        switch (request.method, path.first ?? "", path.count) {
        case (.DELETE, "users", 2) where path[1] == "authenticate":
            grants.revoke(caller.token)
            return Self.envelope([:])
        case (.GET, "timelines", 2) where path[1] == "graph":
            return list(request, community.home(of: own, PostRange(limit: 10_000)).posts, { $0.id }, view.post)
        case (.GET, "timelines", 3) where path[1] == "users":
            let person = view.person(path[2])
            guard let person else { return nil }
            let posts = community.posts(PostRange(limit: 10_000)) { $0.author == person.number }.posts
            return list(request, posts, { $0.id }, view.post)
        case (.GET, "timelines", 3) where path[1] == "posts":
            guard let post = Int64(path[2]).flatMap({ community.post($0) }) else { return nil }
            return list(request, [post], { $0.id }, view.post)
        case (.GET, "users", 2) where path[1] == "me": return Self.envelope(view.user(own))
        case (.GET, "users", 3) where path[1] == "profiles":
            return view.person(path[2]).map { Self.envelope(view.user($0)) }
        case (.GET, "users", 3) where view.person(path[1])?.number == own.number:
            return ofOwn(request, path[2], view)
        case (.POST, "conversations", _): return try say(request, path, view)
        case (_, "posts", 3): return try react(request, path, own)
        case (.POST, "posts", 1): return try post(request, own)
        default: return nil
        }
    }

    private func ofOwn(_ request: NetworkRequest, _ kind: String, _ view: VineView) -> WebAnswer? {
        let own = view.viewer.number
        switch kind {
        case "notifications": return list(request, community.notices(of: own), { $0.id }, view.notice)
        case "pendingNotificationsCount":
            return Self.envelope(.int(community.notices(of: own).count { !$0.isRead }))
        case "conversations":
            return list(request, community.talks(of: own), { $0.messages.last?.id ?? 0 }, view.talk)
        default: return nil
        }
    }

    /// A page: the anchor, which is the newest at the time of the first, pins what pages are counted from.
    private func list<Thing>(
        _ request: NetworkRequest,
        _ all: [Thing],
        _ id: (Thing) -> Int64,
        _ show: (Thing) -> JSONValue
    ) -> WebAnswer {
        let size = request.limit("size", standard: 20, most: 100)
        let page = max(1, Int(request.whole("page") ?? 1))
        let anchor = request.whole("anchor") ?? all.first.map(id)
        let pinned = all.filter { thing in anchor.map { id(thing) <= $0 } ?? true }
        let rest = pinned.dropFirst((page - 1) * size)
        let shown = request.comesEmpty ? [] : Array(rest.prefix(size))
        let hasNext = rest.count > size || request.comesEmpty
        // An empty page does not use up its number.
        let next = request.comesEmpty ? page : page + 1
        return Self.envelope([
            "count": .int(pinned.count), "records": .list(shown.map(show)), "size": .int(size),
            "nextPage": hasNext ? .int(next) : .null, "previousPage": page > 1 ? .int(page - 1) : .null,
            "anchor": anchor.map { .integer($0) } ?? .null, "anchorStr": .text(anchor.map { String($0) }),
            "backAnchor": .text(all.first.map { String(id($0)) }),
        ])
    }

    // MARK: Writing

    private func react(_ request: NetworkRequest, _ path: [String], _ own: Person) throws -> WebAnswer? {
        guard let id = Int64(path[1]), community.post(id) != nil else { return nil }
        switch (request.method, path[2]) {
        case (.POST, "likes"):
            _ = community.like(id, by: own.number)
            return Self.envelope(["likeId": .integer(id + 1)])
        case (.DELETE, "likes"):
            _ = community.like(id, by: own.number, false)
            return Self.envelope([:])
        case (.POST, "comments"):
            guard let text = request["comment"] else { throw Self.flaw(.badRequest, 4, "No comment") }
            let post = community.publish(Community.Draft(text: text, parent: id), by: own.number)
            return Self.envelope(["commentId": .integer(post.id)])
        case (.POST, "repost"):
            let post = community.publish(Community.Draft(original: id), by: own.number)
            return Self.envelope(["repostId": .integer(post.id)])
        default: return nil
        }
    }

    private func store(_ request: NetworkRequest, _ caller: Caller) throws -> WebAnswer? {
        guard request.method == .PUT, request.path.count == 3, ["videos", "thumbs"].contains(request.path[1]) else {
            return nil
        }
        let type = request.headers.first(name: "content-type") ?? ""
        guard request.path[1] == "thumbs" || type == "video/mp4", request.body.readableBytes > 0 else {
            throw Self.flaw(.badRequest, 4, "Not a video")
        }
        let kept = media.keep(request.body, type: type, by: caller.person.number, at: clock.now)
        return WebAnswer(.ok, headers: ["x-upload-key": "\(request.origin)/sandbox/media/\(kept.attachment.id)"])
    }

    private func post(_ request: NetworkRequest, _ own: Person) throws -> WebAnswer {
        let file = request["videoUrl"]?.split(separator: "/").last.flatMap { Int64($0) }
        guard let upload = file.flatMap({ media.upload($0, of: own.number) }), request["thumbnailUrl"] != nil else {
            throw Self.flaw(.badRequest, 4, "videoUrl was not uploaded")
        }
        var draft = Community.Draft(text: request["description"] ?? "", media: [upload.attachment])
        if let venue = request["foursquareVenueId"] { draft.place = Place(id: venue, name: request["venueName"]) }
        let post = community.publish(draft, by: own.number)
        return Self.envelope(["postId": .integer(post.id), "created": .string(VineView.time(post.createdAt))])
    }

    private func say(_ request: NetworkRequest, _ path: [String], _ view: VineView) throws -> WebAnswer? {
        guard let text = request["message"] else { throw Self.flaw(.badRequest, 4, "No message") }
        let said: (Talk, Message)?
        if path.count == 2 {
            said = Int64(path[1]).flatMap { community.say(text, by: view.viewer.number, in: $0) }
        } else {
            let other = request["to"].flatMap { view.person($0) }
            said = other.map { community.say(text, by: view.viewer.number, to: [$0.number]) }
        }
        guard let (talk, message) = said else { return nil }
        return Self.envelope(["conversationId": .integer(talk.id), "messageId": .integer(message.id)])
    }
}
