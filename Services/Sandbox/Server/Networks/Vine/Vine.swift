import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import Wire

/// Vine's historical API: sessions instead of OAuth, response envelopes, pages relative to an anchor, and only videos.
struct Vine: FakeNetwork {
    let service = SandboxService.vine
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let media: MediaStore

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

    // MARK: Authentication

    func caller(of request: NetworkRequest) throws -> Caller? {
        if request.path == ["users", "authenticate"], request.method == .POST { return nil }
        guard let key = request.headers.first(name: "vine-session-id"), let caller = try? caller(token: key) else {
            // Vine reports every invalid key with the same error.
            throw Self.apiError(.unauthorized, 103, "Authenticate first")
        }
        return caller
    }

    // MARK: Rate limits and errors

    /// Returns an assumed limit, because Vine did not publish its limits; clients observed the status 420.
    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        RateBudget(name: "all", limit: 1_000, window: 3_600)
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders { [:] }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        switch failure {
        case .limited: Self.apiError(HTTPResponseStatus(statusCode: 420), 420, "Enhance your calm").response
        case .unavailable(let status): .html("<h1>\(status)</h1>", status: HTTPResponseStatus(statusCode: status))
        case .expired: Self.apiError(.unauthorized, 103, "Authenticate first").response
        case .other(let status, let reason):
            Self.apiError(HTTPResponseStatus(statusCode: status), Int(reason) ?? 1, reason).response
        case .notFound: Self.apiError(.notFound, 900, "That record does not exist.").response
        }
    }

    static func envelope(_ data: JSONValue) -> WebResponse {
        var response = WebResponse.jsonValue(["code": "", "data": data, "success": true, "error": ""])
        response.headers.add(name: "cache-control", value: "private, no-store")
        return response
    }

    static func apiError(_ status: HTTPResponseStatus, _ code: Int, _ text: String) -> NetworkErrorResponse {
        let body: JSONValue = ["code": .int(code), "data": "", "success": false, "error": .string(text)]
        return NetworkErrorResponse(.jsonValue(body, status), String(code))
    }

    // MARK: Routes

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        guard let caller else { return .response(try signIn(request)) }
        let view = VineView(community: community, origin: request.origin, viewer: caller.person)
        let response = request.path.first == "upload" ? try store(request, caller) : try response(request, view, caller)
        return .response(response ?? errorResponse(.notFound, of: request))
    }

    private func signIn(_ request: NetworkRequest) throws -> WebResponse {
        let name = request["username"].map { String($0.prefix { $0 != "@" }) }
        guard let person = name.flatMap({ community.person(named: $0) }),
            request["username"] == "\(person.name)@example.org", request["password"] == "\(person.name)-password"
        else { throw Self.apiError(.badRequest, 101, "The username or password you entered is incorrect.") }
        let key = "\(VineView.id(of: person))-\(UUID().uuidString.lowercased())"
        grants.put(key, Grants.Grant(person: person.number, app: clientID, scopes: []))
        return Self.envelope([
            "username": .string(person.displayName), "userId": .integer(VineView.id(of: person)), "key": .string(key),
            "avatarUrl": .string("\(request.origin)/sandbox/media/500001"), "edition": "US",
        ])
    }

    private func response(_ request: NetworkRequest, _ view: VineView, _ caller: Caller) throws -> WebResponse? {
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
        case (.POST, "conversations", _): return try sendMessage(request, path, view)
        case (_, "posts", 3): return try react(request, path, own)
        case (.POST, "posts", 1): return try post(request, own)
        default: return nil
        }
    }

    private func ofOwn(_ request: NetworkRequest, _ kind: String, _ view: VineView) -> WebResponse? {
        let own = view.viewer.number
        switch kind {
        case "notifications": return list(request, community.notices(of: own), { $0.id }, view.notice)
        case "pendingNotificationsCount":
            return Self.envelope(.int(community.notices(of: own).count { !$0.isRead }))
        case "conversations":
            return list(request, community.messageThreads(of: own), { $0.messages.last?.id ?? 0 }, view.messageThread)
        default: return nil
        }
    }

    /// Returns a page.
    ///
    /// The anchor is the newest item at the time of the first page, and all pages are counted from it.
    private func list<Item>(
        _ request: NetworkRequest,
        _ all: [Item],
        _ id: (Item) -> Int64,
        _ show: (Item) -> JSONValue
    ) -> WebResponse {
        let size = request.limit("size", standard: 20, most: 100)
        let page = max(1, Int(request.whole("page") ?? 1))
        let anchor = request.whole("anchor") ?? all.first.map(id)
        let pinned = all.filter { item in anchor.map { id(item) <= $0 } ?? true }
        let rest = pinned.dropFirst((page - 1) * size)
        let shown = request.returnsEmptyPage ? [] : Array(rest.prefix(size))
        let hasNext = rest.count > size || request.returnsEmptyPage
        // An empty page does not advance the page number.
        let next = request.returnsEmptyPage ? page : page + 1
        return Self.envelope([
            "count": .int(pinned.count), "records": .list(shown.map(show)), "size": .int(size),
            "nextPage": hasNext ? .int(next) : .null, "previousPage": page > 1 ? .int(page - 1) : .null,
            "anchor": anchor.map { .integer($0) } ?? .null, "anchorStr": .text(anchor.map { String($0) }),
            "backAnchor": .text(all.first.map { String(id($0)) }),
        ])
    }

    // MARK: Writing

    private func react(_ request: NetworkRequest, _ path: [String], _ own: Person) throws -> WebResponse? {
        guard let id = Int64(path[1]), community.post(id) != nil else { return nil }
        switch (request.method, path[2]) {
        case (.POST, "likes"):
            _ = community.like(id, by: own.number)
            return Self.envelope(["likeId": .integer(id + 1)])
        case (.DELETE, "likes"):
            _ = community.like(id, by: own.number, false)
            return Self.envelope([:])
        case (.POST, "comments"):
            guard let text = request["comment"] else { throw Self.apiError(.badRequest, 4, "No comment") }
            let post = community.publish(Community.Draft(text: text, parent: id), by: own.number)
            return Self.envelope(["commentId": .integer(post.id)])
        case (.POST, "repost"):
            let post = community.publish(Community.Draft(original: id), by: own.number)
            return Self.envelope(["repostId": .integer(post.id)])
        default: return nil
        }
    }

    private func store(_ request: NetworkRequest, _ caller: Caller) throws -> WebResponse? {
        guard request.method == .PUT, request.path.count == 3, ["videos", "thumbs"].contains(request.path[1]) else {
            return nil
        }
        let type = request.headers.first(name: "content-type") ?? ""
        guard request.path[1] == "thumbs" || type == "video/mp4", request.body.readableBytes > 0 else {
            throw Self.apiError(.badRequest, 4, "Not a video")
        }
        let saved = media.save(request.body, type: type, by: caller.person.number, at: clock.now)
        return WebResponse(.ok, headers: ["x-upload-key": "\(request.origin)/sandbox/media/\(saved.attachment.id)"])
    }

    private func post(_ request: NetworkRequest, _ own: Person) throws -> WebResponse {
        let file = request["videoUrl"]?.split(separator: "/").last.flatMap { Int64($0) }
        guard let upload = file.flatMap({ media.upload($0, of: own.number) }), request["thumbnailUrl"] != nil else {
            throw Self.apiError(.badRequest, 4, "videoUrl was not uploaded")
        }
        var draft = Community.Draft(text: request["description"] ?? "", media: [upload.attachment])
        if let venue = request["foursquareVenueId"] { draft.location = Location(id: venue, name: request["venueName"]) }
        let post = community.publish(draft, by: own.number)
        return Self.envelope(["postId": .integer(post.id), "created": .string(VineView.time(post.createdAt))])
    }

    private func sendMessage(_ request: NetworkRequest, _ path: [String], _ view: VineView) throws -> WebResponse? {
        guard let text = request["message"] else { throw Self.apiError(.badRequest, 4, "No message") }
        let sent: (MessageThread, Message)?
        if path.count == 2 {
            sent = Int64(path[1]).flatMap { community.sendMessage(text, by: view.viewer.number, in: $0) }
        } else {
            let other = request["to"].flatMap { view.person($0) }
            sent = other.map { community.sendMessage(text, by: view.viewer.number, to: [$0.number]) }
        }
        guard let (messageThread, message) = sent else { return nil }
        return Self.envelope(["conversationId": .integer(messageThread.id), "messageId": .integer(message.id)])
    }
}
