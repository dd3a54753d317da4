import Foundation
import NIOHTTP1
import Wire

extension Reddit {
    func read(_ path: [String], _ request: NetworkRequest, by caller: Caller) -> WebResponse? {
        let view = RedditView(community: community, request: request, viewer: caller.person)
        switch path.joined(separator: "/") {
        case "best", "hot", "new", "top", "rising", "":
            return posts(request, view) { community.home(of: caller.person, $0) }
        case "api/v1/me": return .jsonValue(view.account(caller.person, isOwn: true))
        case "api/info":
            let wanted = (request["id"] ?? "").split(separator: ",").compactMap { RedditView.id($0) }
            return .jsonValue(RedditView.listing(wanted.compactMap { community.post($0) }.map(view.thing), after: nil))
        case "subreddits/mine/subscriber": return subscriptions(request, view)
        case "message/messages":
            return list(community.messageThreads(of: caller.person.number).map(view.thread), request)
        case "message/inbox", "message/unread", "message/mentions", "message/sent":
            return inbox(path[1], request, view)
        default: break
        }
        if path.count == 3, path.starts(with: ["message", "messages"]) {
            let threads = community.messageThreads(of: caller.person.number).map(view.thread)
            return list(threads.filter { $0["data"]?["name"]?.text == "t4_\(path[2])" }, request)
        }
        guard path.count > 2 || (path.count == 2 && path[0] == "r") else { return nil }
        switch (path[0], path.count > 2 ? path[2] : "hot") {
        case ("user", "about"):
            return community.person(named: path[1]).map { .jsonValue(["kind": "t2", "data": view.account($0)]) }
        case ("user", "submitted"), ("user", "overview"):
            guard let person = community.person(named: path[1]) else { return nil }
            return posts(request, view) { community.posts($0) { $0.author == person.number && $0.parent == nil } }
        case ("r", "about"): return .jsonValue(view.subreddit(path[1]))
        case ("r", "best"), ("r", "hot"), ("r", "new"), ("r", "top"), ("r", "rising"):
            return posts(request, view) { community.posts($0) { $0.room == path[1] && $0.parent == nil } }
        default: return nil
        }
    }

    private func posts(
        _ request: NetworkRequest,
        _ view: RedditView,
        _ read: (PostRange) -> (posts: [Post], more: Bool)
    ) -> WebResponse {
        let after = request["after"].flatMap { RedditView.id($0) }
        let before = request["before"].flatMap { RedditView.id($0) }
        var range = PostRange(below: after, above: before, limit: request.limit(standard: 25, most: 100))
        range.isUpward = before != nil
        let (found, more) = read(range)
        let posts = found.filter { $0.parent == nil }
        if request.returnsEmptyPage {
            // A page may begin after a deleted post.
            let next = after ?? posts.first.map { $0.id + 1 }
            return .jsonValue(RedditView.listing([], after: next.map { "t3_\(RedditView.base36($0))" }))
        }
        let edge = more ? found.last.map { "t3_\(RedditView.base36($0.id))" } : nil
        let start = after == nil ? nil : posts.first.map { "t3_\(RedditView.base36($0.id))" }
        return .jsonValue(RedditView.listing(posts.map(view.link), after: edge, before: start))
    }

    /// Returns a page of things, with their full names as cursors.
    private func list(_ all: [JSONValue], _ request: NetworkRequest) -> WebResponse {
        let name = { (thing: JSONValue) in thing["data"]?["name"]?.text }
        let limit = request.limit(standard: 25, most: 100)
        let start = request["after"].flatMap { after in all.firstIndex { name($0) == after } }.map { $0 + 1 } ?? 0
        if request.returnsEmptyPage { return .jsonValue(RedditView.listing([], after: request["after"] ?? "t4_0")) }
        let end = request["before"].flatMap { before in all.firstIndex { name($0) == before } } ?? all.count
        let found = Array(all[min(start, end)..<min(end, start + limit)])
        return .jsonValue(RedditView.listing(found, after: start + limit < end ? found.last.flatMap(name) : nil))
    }

    private func inbox(_ kind: String, _ request: NetworkRequest, _ view: RedditView) -> WebResponse {
        let own = view.viewer.number
        let notices = kind == "sent" ? [] : community.notices(of: own).compactMap(view.notice)
        let messages =
            kind == "mentions"
            ? []
            : community.messageThreads(of: own).flatMap { messageThread in
                messageThread.messages.filter { ($0.sender == own) == (kind == "sent") }.map {
                    view.message($0, in: messageThread)
                }
            }
        let time = { (thing: JSONValue) -> Double in
            guard case .number(let time)? = thing["data"]?["created_utc"] else { return 0 }
            return time
        }
        let all = (notices + messages).filter { thing in
            switch kind {
            case "unread": thing["data"]?["new"] == true
            case "mentions": thing["data"]?["type"]?.text == "username_mention"
            default: true
            }
        }
        return list(all.sorted { time($0) > time($1) }, request)
    }

    private func subscriptions(_ request: NetworkRequest, _ view: RedditView) -> WebResponse {
        let person = community.person(view.viewer.number) ?? view.viewer
        let people = person.follows.sorted().compactMap { community.person($0) }.map(view.profile)
        let rooms = (0..<20).map { view.subreddit("community\($0)") } + Self.rooms.map(view.subreddit)
        var all: [JSONValue] = []
        for index in 0..<max(people.count, rooms.count) {
            if index < rooms.count { all.append(rooms[index]) }
            if index < people.count { all.append(people[index]) }
        }
        return list(all, request)
    }
}
