import Foundation
import NIOHTTP1
import Wire

/// Timelines, threads, notifications and profiles. The last page has no cursor.
extension Bluesky {
    func view(_ request: NetworkRequest, _ caller: Caller) -> BlueskyView {
        BlueskyView(community: community, records: records, origin: request.origin, viewer: caller.person)
    }

    func reading(_ method: String, _ request: NetworkRequest, by caller: Caller) throws -> WebResponse? {
        let view = view(request, caller)
        switch method {
        case "app.bsky.feed.getTimeline":
            return try feed(request, view) { community.home(of: caller.person, $0) }
        case "app.bsky.feed.getAuthorFeed":
            guard let actor = person(request["actor"] ?? "") else {
                throw Self.apiError("InvalidRequest", "Profile not found")
            }
            return try feed(request, view) { community.posts($0) { $0.author == actor.number } }
        case "app.bsky.feed.getPosts":
            return .jsonValue(["posts": .list(request.all("uris").compactMap(post).map(view.post))])
        case "app.bsky.feed.getPostThread": return try thread(request, view)
        case "app.bsky.notification.listNotifications": return try notifications(request, view)
        case "app.bsky.notification.getUnreadCount":
            return .jsonValue(["count": .int(community.notices(of: caller.person.number).count { !$0.isRead })])
        case "app.bsky.notification.updateSeen":
            guard let time = request["seenAt"].flatMap({ Timestamp.date(from: $0) }) else {
                throw Self.apiError("InvalidRequest", "Error: Input must have the property \"seenAt\"")
            }
            community.markNoticesRead(of: caller.person.number, upTo: time)
            return WebResponse(.ok)
        case "app.bsky.actor.getProfile":
            guard let actor = person(request["actor"] ?? "") else {
                throw Self.apiError("InvalidRequest", "Profile not found")
            }
            return .jsonValue(
                view.profile(actor).with(["followersCount": 7, "followsCount": 7, "postsCount": 30, "description": ""])
            )
        case "app.bsky.actor.getProfiles":
            return .jsonValue(["profiles": .list(request.all("actors").compactMap(person).map(view.profile))])
        default: return nil
        }
    }

    func post(_ uri: String) -> Post? {
        let parts = uri.split(separator: "/").map(String.init)
        guard parts.count == 4, parts[0] == "at:", parts[2] == "app.bsky.feed.post" else { return nil }
        guard let person = person(parts[1]) else { return nil }
        return records.post(parts[3], by: BlueskyNames.did(person)).flatMap { community.post($0) }
    }

    /// Returns the last post of the previous page, from the cursor.
    private func cursorID(_ request: NetworkRequest) throws -> Int64? {
        guard let cursor = request["cursor"] else { return nil }
        let parts = cursor.split(separator: "_").map(String.init)
        guard parts.count == 2, let id = BlueskyNames.id(parts[1]) else {
            throw Self.apiError("InvalidRequest", "Malformed cursor")
        }
        return id
    }

    private func cursor(_ id: Int64) -> JSONValue { .string("\(id >> 20)_\(BlueskyNames.tid(id))") }

    private func limit(_ request: NetworkRequest, standard: Int = 50) throws -> Int {
        guard let text = request["limit"] else { return standard }
        guard let limit = Int(text), 1...100 ~= limit else {
            throw Self.apiError("InvalidRequest", "Error: limit can not be greater than 100")
        }
        return limit
    }

    private func feed(
        _ request: NetworkRequest,
        _ view: BlueskyView,
        _ read: (PostRange) -> (posts: [Post], more: Bool)
    ) throws -> WebResponse {
        let below = try cursorID(request)
        let (posts, more) = read(PostRange(below: below, limit: try limit(request)))
        guard !request.returnsEmptyPage else {
            let next = below ?? posts.first.map { $0.id + 1 } ?? 1
            return .jsonValue(["feed": [], "cursor": cursor(next)])
        }
        let page: JSONValue = ["feed": .list(posts.compactMap(view.entry))]
        guard more, let last = posts.last else { return .jsonValue(page) }
        return .jsonValue(page.with(["cursor": cursor(last.id)]))
    }

    private func notifications(_ request: NetworkRequest, _ view: BlueskyView) throws -> WebResponse {
        let below = try cursorID(request)
        let limit = try limit(request)
        let reasons = Set(request.all("reasons"))
        let all = community.notices(of: view.viewer.number).filter { notice in
            let reason = view.notification(notice)["reason"]?.text ?? ""
            return below.map { notice.id < $0 } ?? true && (reasons.isEmpty || reasons.contains(reason))
        }
        let found = request.returnsEmptyPage ? [] : Array(all.prefix(limit))
        let next = request.returnsEmptyPage ? all.first.map { $0.id + 1 } : all.count > limit ? found.last?.id : nil
        let page: JSONValue = ["notifications": .list(found.map(view.notification)), "priority": false]
        guard let next else { return .jsonValue(page) }
        return .jsonValue(page.with(["cursor": cursor(next)]))
    }

    private func thread(_ request: NetworkRequest, _ view: BlueskyView) throws -> WebResponse {
        guard let post = request["uri"].flatMap(post) else {
            throw Self.apiError("NotFound", "Post not found: \(request["uri"] ?? "")")
        }
        let kind: JSONValue = "app.bsky.feed.defs#threadViewPost"
        var shown: JSONValue = ["$type": kind, "post": view.post(post)]
        let replies = community.replies(to: post.id).map { reply -> JSONValue in
            ["$type": kind, "post": view.post(reply), "replies": []]
        }
        shown = shown.with(["replies": .array(replies)])
        if let parent = post.parent.flatMap({ community.post($0) }) {
            shown = shown.with(["parent": ["$type": kind, "post": view.post(parent)]])
        }
        return .jsonValue(["thread": shown])
    }
}
