import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// API 1.1: pages by `max_id`, which is inclusive, and `since_id`, which is exclusive.
extension Twitter {
    func v1(_ request: NetworkRequest, _ path: [String], by caller: Caller) throws -> WebResponse? {
        let view = TwitterView(community: community, origin: request.origin, viewer: caller.person)
        guard caller.person.number >= 0 else {
            throw Self.apiError(220, "Your credentials do not allow access to this resource.", .forbidden)
        }
        switch path.joined(separator: "/") {
        case "statuses/home_timeline": return timeline(request, view) { community.home(of: caller.person, $0) }
        case "statuses/user_timeline":
            let person = try named(request) ?? caller.person
            return timeline(request, view) { community.posts($0) { $0.author == person.number } }
        case "statuses/mentions_timeline":
            let ids = Set(
                community.notices(of: caller.person.number)
                    .filter { $0.kind == .mention || $0.kind == .reply }.compactMap(\.post)
            )
            return timeline(request, view) { community.posts($0) { ids.contains($0.id) } }
        case "statuses/retweets_of_me":
            return timeline(request, view) {
                community.posts($0) { $0.author == caller.person.number && !$0.boosts.isEmpty }
            }
        case "statuses/show":
            guard let post = request.whole("id").flatMap({ community.post($0) }) else {
                throw Self.apiError(144, "No status found with that ID.", .notFound)
            }
            return .jsonValue(view.tweet(post, isExtended: request["tweet_mode"] == "extended"))
        case "account/verify_credentials": return .jsonValue(view.user(caller.person))
        case "users/show":
            guard let person = try named(request) else { throw Self.apiError(50, "User not found.", .notFound) }
            return .jsonValue(view.user(person))
        case "application/rate_limit_status": return .jsonValue(["rate_limit_context": [:], "resources": [:]])
        case "statuses/update": return try update(request, view)
        case "statuses/update_with_media": return try updateWithMedia(request, view)
        case "favorites/create", "favorites/destroy": return try favorite(request, path[1] == "create", view)
        case "media/metadata/create": return WebResponse(.ok)
        case "users/lookup":
            let ids = (request["user_id"] ?? "").split(separator: ",").compactMap { Int64($0) }
            return .jsonValue(.list(ids.compactMap { community.person(id: $0) }.map(view.user)))
        case "media/upload": return try upload(request, by: caller)
        case "direct_messages", "direct_messages/sent": return messages(request, view, areSent: path.count == 2)
        case "direct_messages/new": return try send(request, view)
        case "direct_messages/events/list": return events(request, view)
        case "direct_messages/events/new": return try sendEvent(request, view)
        case "direct_messages/events/show":
            let found = all(view.viewer).first { $0.1.id == request.whole("id") }
            return found.map { .jsonValue(["event": view.event($0.1, in: $0.0)]) }
        case let joined where joined.hasPrefix("statuses/destroy/"):
            guard
                let post = path.last.flatMap({ Int64($0) }).flatMap({ community.delete($0, by: caller.person.number) })
            else { throw Self.apiError(144, "No status found with that ID.", .notFound) }
            return .jsonValue(view.tweet(post, isExtended: false))
        case let joined where joined.hasPrefix("statuses/retweet/"):
            guard let post = path.last.flatMap({ Int64($0) }).flatMap({ community.post($0) }) else {
                throw Self.apiError(144, "No status found with that ID.", .notFound)
            }
            guard !post.boosts.contains(caller.person.number) else {
                throw Self.apiError(327, "You have already retweeted this Tweet.", .forbidden)
            }
            let draft = Community.Draft(original: post.original ?? post.id)
            return .jsonValue(view.tweet(community.publish(draft, by: caller.person.number), isExtended: false))
        default: return nil
        }
    }

    private func named(_ request: NetworkRequest) throws -> Person? {
        if let name = request["screen_name"] { return community.person(named: name) }
        return request.whole("user_id").flatMap { community.person(id: $0) }
    }

    private func timeline(
        _ request: NetworkRequest,
        _ view: TwitterView,
        _ read: (PostRange) -> (posts: [Post], more: Bool)
    ) -> WebResponse {
        let range = PostRange(
            below: request.whole("max_id").map { $0 + 1 },
            above: request.whole("since_id"),
            limit: request.limit("count", standard: 20, most: 200)
        )
        let isExtended = request["tweet_mode"] == "extended"
        let posts = request.returnsEmptyPage ? [] : read(range).posts
        return .jsonValue(.list(posts.map { view.tweet($0, isExtended: isExtended) }))
    }

    // MARK: Writing

    private func update(_ request: NetworkRequest, _ view: TwitterView) throws -> WebResponse {
        let wanted = (request["media_ids"] ?? "").split(separator: ",").compactMap { Int64($0) }
        return try postStatus(request["status"] ?? "", attachments(wanted, of: view.viewer.number), request, view)
    }

    private func updateWithMedia(_ request: NetworkRequest, _ view: TwitterView) throws -> WebResponse {
        let files = request.files.filter { $0.name == "media[]" }
        guard !files.isEmpty else { throw Self.apiError(195, "Missing or invalid url parameter", .forbidden) }
        let attachments = files.map {
            media.save($0.bytes, type: $0.type, by: view.viewer.number, at: clock.now).attachment
        }
        return try postStatus(request["status"] ?? "", attachments, request, view)
    }

    private func postStatus(
        _ text: String,
        _ attachments: [Attachment],
        _ request: NetworkRequest,
        _ view: TwitterView
    ) throws -> WebResponse {
        guard !text.isEmpty || !attachments.isEmpty else {
            throw Self.apiError(170, "Missing required parameter: status.", .forbidden)
        }
        try check(text, attachments, by: view.viewer)
        var draft = Community.Draft(text: text, media: attachments)
        if let parent = request.whole("in_reply_to_status_id") {
            guard community.post(parent) != nil else {
                throw Self.apiError(
                    385,
                    "You attempted to reply to a Tweet that is deleted or not visible to you.",
                    .forbidden
                )
            }
            draft.parent = parent
        }
        if let latitude = request["lat"].flatMap(Double.init), let longitude = request["long"].flatMap(Double.init) {
            guard -90...90 ~= latitude, -180...180 ~= longitude else {
                throw Self.apiError(3, "Invalid coordinates.", .badRequest)
            }
            draft.location = Location(latitude: latitude, longitude: longitude)
        }
        if let location = request["place_id"] { draft.location = Location(id: location, name: "Somewhere") }
        let post = community.publish(draft, by: view.viewer.number)
        media.use(attachments.map(\.id))
        return .jsonValue(view.tweet(post, isExtended: request["tweet_mode"] == "extended"))
    }

    /// Checks the rules of tweets that both API versions share.
    func check(_ text: String, _ attachments: [Attachment], by author: Person) throws {
        guard Self.weight(text) <= 280 else { throw Self.apiError(186, "Tweet needs to be a bit shorter.", .forbidden) }
        let videos = attachments.count { $0.kind == .video }
        guard attachments.count <= 4, videos == 0 || attachments.count == 1 else {
            throw Self.apiError(324, "Duplicated or too many media.", .badRequest)
        }
        let newest = community.posts(PostRange(limit: 20)) { $0.author == author.number }.posts
        let isRepeated = newest.contains {
            $0.text == text && !text.isEmpty && clock.now.timeIntervalSince($0.createdAt) < 3_600 && $0.media.isEmpty
        }
        guard !isRepeated || !attachments.isEmpty else {
            throw Self.apiError(187, "Status is a duplicate.", .forbidden)
        }
    }

    /// Returns the weighted length of a tweet.
    ///
    /// Characters beyond Latin and punctuation count twice, and a URL counts 23.
    static func weight(_ text: String) -> Int {
        let plain = text.replacing(/https?:\/\/\S+/, with: String(repeating: "x", count: 23))
        return plain.unicodeScalars.reduce(0) { sum, scalar in
            switch scalar.value {
            case 0...4_351, 8_192...8_205, 8_208...8_223, 8_242...8_247: sum + 1
            default: sum + 2
            }
        }
    }

    private func favorite(_ request: NetworkRequest, _ likes: Bool, _ view: TwitterView) throws -> WebResponse {
        guard let id = request.whole("id"), let post = community.post(id) else {
            throw Self.apiError(144, "No status found with that ID.", .notFound)
        }
        if likes, post.likes.contains(view.viewer.number) {
            throw Self.apiError(139, "You have already favorited this status.", .forbidden)
        }
        let now = community.like(id, by: view.viewer.number, likes) ?? post
        return .jsonValue(view.tweet(now, isExtended: request["tweet_mode"] == "extended"))
    }

    // MARK: Messages

    func all(_ person: Person) -> [(MessageThread, Message)] {
        community.messageThreads(of: person.number).flatMap { messageThread in
            messageThread.messages.map { (messageThread, $0) }
        }
        .sorted { $0.1.id > $1.1.id }
    }

    private func messages(_ request: NetworkRequest, _ view: TwitterView, areSent: Bool) -> WebResponse {
        let below = request.whole("max_id").map { $0 + 1 } ?? .max
        let above = request.whole("since_id") ?? 0
        let found = all(view.viewer).filter { _, message in
            (message.sender == view.viewer.number) == areSent && message.id < below && message.id > above
        }
        let limit = request.limit("count", standard: 20, most: 200)
        return .jsonValue(
            .list(request.returnsEmptyPage ? [] : found.prefix(limit).map { view.message($0.1, in: $0.0) })
        )
    }

    private func send(_ request: NetworkRequest, _ view: TwitterView) throws -> WebResponse {
        guard let other = try named(request) else { throw Self.apiError(108, "Cannot find specified user.", .notFound) }
        guard let text = request["text"] else { throw Self.apiError(38, "text parameter is missing.", .forbidden) }
        let (messageThread, message) = community.sendMessage(text, by: view.viewer.number, to: [other.number])
        return .jsonValue(view.message(message, in: messageThread))
    }

    private func events(_ request: NetworkRequest, _ view: TwitterView) -> WebResponse {
        let below = request["cursor"].flatMap { Data(base64Encoded: $0) }.flatMap {
            Int64(String(decoding: $0, as: UTF8.self))
        }
        let found = all(view.viewer).filter { _, message in below.map { message.id < $0 } ?? true }
        let limit = request.limit("count", standard: 20, most: 50)
        let shown = request.returnsEmptyPage ? [] : Array(found.prefix(limit))
        let page: JSONValue = ["events": .list(shown.map { view.event($0.1, in: $0.0) })]
        let edge =
            request.returnsEmptyPage ? found.first.map { $0.1.id + 1 } : found.count > limit ? shown.last?.1.id : nil
        guard let edge else { return .jsonValue(page) }
        return .jsonValue(page.with(["next_cursor": .string(Data(String(edge).utf8).base64EncodedString())]))
    }

    private func sendEvent(_ request: NetworkRequest, _ view: TwitterView) throws -> WebResponse {
        let event = request.json?["event"]
        guard event?["type"]?.text == "message_create",
            let id = event?["message_create"]?["target"]?["recipient_id"]?.plain.flatMap(Int64.init),
            let text = event?["message_create"]?["message_data"]?["text"]?.text, !text.isEmpty
        else { throw Self.apiError(214, "event.message_create is invalid.", .badRequest) }
        guard let other = community.person(id: id) else {
            throw Self.apiError(108, "Cannot find specified user.", .notFound)
        }
        let (messageThread, message) = community.sendMessage(text, by: view.viewer.number, to: [other.number])
        return .jsonValue(["event": view.event(message, in: messageThread)])
    }
}
