import Foundation
import NIOHTTP1
import Wire

/// Timelines, conversations, notifications and accounts. Each page has `Link` fields to the next and the previous page.
extension Mastodon {
    func reading(_ request: NetworkRequest, _ path: [String], by caller: Caller) -> WebResponse? {
        let view = MastodonView(community: community, base: request.base, viewer: caller.person)
        switch (request.method, path[0], path.count) {
        case (.GET, "timelines", 2) where path[1] == "home":
            return timeline(request, view) { community.home(of: caller.person, $0) }
        case (.GET, "timelines", 2) where path[1] == "public":
            return timeline(request, view) { community.posts($0) { $0.original == nil } }
        case (.GET, "conversations", 1): return conversations(request, view)
        case (.POST, "conversations", 3) where path[2] == "read":
            guard let id = Int64(path[1]), let messageThread = community.messageThread(id, of: caller.person.number)
            else { return nil }
            community.markRead(id, by: caller.person.number)
            return .jsonValue(view.conversation(community.messageThread(id, of: caller.person.number) ?? messageThread))
        case (.GET, "notifications", 1): return notifications(request, view)
        case (.GET, "notifications", 2) where path[1] == "unread_count":
            let unread = community.notices(of: caller.person.number).count { !$0.isRead }
            return .jsonValue(["count": .int(min(unread, 100))])
        case (.GET, "notifications", 2):
            return community.notices(of: caller.person.number).first { String($0.id) == path[1] }
                .map { .jsonValue(view.notification($0)) }
        case (.POST, "notifications", 2) where path[1] == "clear":
            community.markNoticesRead(of: caller.person.number, upTo: clock.now)
            return .jsonValue([:])
        case (.GET, "markers", 1): return .jsonValue([:])
        default: return nil
        }
    }

    private func range(_ request: NetworkRequest, standard: Int, most: Int) -> PostRange {
        var range = PostRange(
            below: request.whole("max_id"),
            above: request.whole("min_id") ?? request.whole("since_id"),
            limit: request.limit(standard: standard, most: most)
        )
        range.isUpward = request["min_id"] != nil
        return range
    }

    private func timeline(
        _ request: NetworkRequest,
        _ view: MastodonView,
        _ read: (PostRange) -> (posts: [Post], more: Bool)
    ) -> WebResponse {
        let range = range(request, standard: 20, most: 40)
        let (posts, _) = read(range)
        guard !request.returnsEmptyPage else {
            let next = range.below ?? posts.first.map { $0.id + 1 }
            return page([], request, next: next, previous: nil)
        }
        return page(posts.map { view.status($0) }, request, next: posts.last?.id, previous: posts.first?.id)
    }

    private func notifications(_ request: NetworkRequest, _ view: MastodonView) -> WebResponse {
        let wanted = Set(request.all("types"))
        let unwanted = Set(request.all("exclude_types"))
        let range = range(request, standard: 40, most: 80)
        let all = community.notices(of: view.viewer.number).filter { notice in
            let type = view.notification(notice)["type"]?.text ?? ""
            return (wanted.isEmpty || wanted.contains(type)) && !unwanted.contains(type)
        }
        let found = Self.part(of: all, range) { $0.id }
        guard !request.returnsEmptyPage else {
            return page([], request, next: range.below ?? found.first.map { $0.id + 1 }, previous: nil)
        }
        return page(found.map(view.notification), request, next: found.last?.id, previous: found.first?.id)
    }

    private func conversations(_ request: NetworkRequest, _ view: MastodonView) -> WebResponse {
        // Conversations are paged by the ids of their last statuses.
        let messageThreads = community.messageThreads(of: view.viewer.number)
        let range = range(request, standard: 20, most: 40)
        let found = Self.part(of: messageThreads, range) { $0.messages.last?.id ?? 0 }
        let ids = found.map { $0.messages.last?.id ?? 0 }
        guard !request.returnsEmptyPage else {
            return page([], request, next: range.below ?? ids.first.map { $0 + 1 }, previous: nil)
        }
        return page(found.map(view.conversation), request, next: ids.last, previous: ids.first)
    }

    /// Returns a part of a list that is sorted newest first.
    static func part<Item>(of all: [Item], _ range: PostRange, _ id: (Item) -> Int64) -> [Item] {
        let within = all.filter { item in
            range.below.map { id(item) < $0 } ?? true && range.above.map { id(item) > $0 } ?? true
        }
        return Array(range.isUpward ? within.suffix(range.limit) : within.prefix(range.limit))
    }

    private func page(_ items: [JSONValue], _ request: NetworkRequest, next: Int64?, previous: Int64?) -> WebResponse {
        let queryItems = request.query.filter { !["max_id", "since_id", "min_id", "access_token"].contains($0.name) }
        let link = { (name: String, id: Int64) in
            ConsentPage.url(request.url, queryItems.map { ($0.name, $0.value) } + [(name, String(id))])
        }
        var links: [String] = []
        if let next { links.append("<\(link("max_id", next))>; rel=\"next\"") }
        if let previous { links.append("<\(link("min_id", previous))>; rel=\"prev\"") }
        return .jsonValue(.array(items), headers: links.isEmpty ? [:] : ["link": links.joined(separator: ", ")])
    }

    // MARK: Accounts

    func accounts(_ request: NetworkRequest, _ path: [String], by caller: Caller) -> WebResponse? {
        let view = MastodonView(community: community, base: request.base, viewer: caller.person)
        guard request.method == .GET, path.count > 1, caller.person.number >= 0 else { return nil }
        switch path[1] {
        case "verify_credentials":
            let source: JSONValue = [
                "privacy": "public", "sensitive": false, "language": "en", "note": "", "fields": [],
            ]
            return .jsonValue(view.account(caller.person).with(["source": source]))
        case "lookup":
            return request["acct"].flatMap { community.person(named: String($0.prefix { $0 != "@" })) }
                .map { .jsonValue(view.account($0)) }
        case "relationships": return .jsonValue([])
        default: break
        }
        guard let person = Int64(path[1]).flatMap({ community.person(id: $0) }) else { return nil }
        guard path.count > 2 else { return .jsonValue(view.account(person)) }
        guard path[2] == "statuses" else { return nil }
        return timeline(request, view) { community.posts($0) { $0.author == person.number } }
    }
}
