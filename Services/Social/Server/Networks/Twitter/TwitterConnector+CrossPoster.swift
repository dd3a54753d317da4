import Foundation
import HTTPTypes
import Multipart
import NIOCore
import OAuth1
import SocialAPI
import Wire

extension TwitterConnector {
    private static let limits = PostLimits(
        text: 280,
        textUnit: .weighted,
        photos: 4,
        photoBytes: 5_242_880,
        photoTypes: ["image/jpeg", "image/png", "image/gif", "image/webp"],
        videoBytes: 536_870_912,
        videoSeconds: 140,
        videoTypes: ["video/mp4", "video/quicktime"],
        reply: 10_000
    )

    func accountCapabilities(of account: NetworkAccount) -> AccountCapabilities {
        var accountCapabilities = AccountCapabilities(
            supported: [.feed, .messages, .notifications, .text, .photo, .video, .location, .favorite, .reply],
            limits: Self.limits,
            reasons: [.like: "Twitter has favourites instead of likes"]
        )
        if isV2(account) {
            accountCapabilities.supported.remove(.location)
            accountCapabilities.reasons[.location] = "this version of the API accepts no coordinates"
        }
        return accountCapabilities
    }

    private struct Prepared: Codable { var media: [String] }

    func prepare(_ post: NetworkPost, as account: NetworkAccount) async throws -> PreparedPost? {
        try check(post)
        var media: [String] = []
        for photo in post.photos { media.append(try await send(photo, account)) }
        if let video = post.video { media.append(try await sendInChunks(video, account)) }
        return media.isEmpty ? nil : try NetworkCursor(Prepared(media: media))
    }

    func publish(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost
    {
        try check(post)
        let media = try prepared?.read(as: Prepared.self).media ?? []
        let text = Self.text(of: post)
        if isV2(account) {
            var body: [String: JSONValue] = [:]
            if !text.isEmpty { body["text"] = .string(text) }
            if !media.isEmpty { body["media"] = .object(["media_ids": .array(media.map(JSONValue.string))]) }
            let request = try NetworkRequest.json("\(key.baseURL)/2/tweets", .object(body))
            let (json, budget) = try await send(request, account, isWrite: true)
            return posted(try json.createdID("data", "id"), account, budget)
        }
        let point = post.location.flatMap { place in
            place.latitude.flatMap { latitude in place.longitude.map { (String(latitude), String($0)) } }
        }
        let (json, budget) = try await send(
            form: "\(key.baseURL)/1.1/statuses/update.json",
            [
                "status": text, "media_ids": media.isEmpty ? nil : media.joined(separator: ","), "lat": point?.0,
                "long": point?.1, "display_coordinates": point == nil ? nil : "true", "tweet_mode": "extended",
            ],
            account,
            isWrite: true
        )
        return posted(try json.createdID("id_str"), account, budget)
    }

    /// Searches the account's latest tweets.
    func find(_ post: NetworkPost, prepared: PreparedPost?, as account: NetworkAccount) async throws -> PublishedPost? {
        let page = PageRequest(limit: 50)
        let found: NetworkPage
        if isV2(account) {
            found = try await posts("/2/users/\(try me(account))/tweets", page, account, .post)
        } else {
            found = try await timeline("statuses/user_timeline", page, account, .post)
        }
        let expected = Self.words(Self.text(of: post))
        let item = found.items.map(\.item).first {
            Self.words($0.text) == expected && $0.createdAt >= post.createdAt.addingTimeInterval(-60)
                && $0.media.isEmpty == (post.photos.isEmpty && post.video == nil)
        }
        return item.map { PublishedPost(id: $0.id.native, url: $0.url, budget: found.budget) }
    }

    func reply(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost {
        try Self.limits.check(reply)
        if isV2(account) {
            let url = "\(key.baseURL)/2/dm_conversations/\(reply.thread.pathSegment)/messages"
            let request = try NetworkRequest.json(url, .object(["text": .string(reply.text)]))
            let (json, budget) = try await send(request, account, isWrite: true)
            return PublishedPost(id: "message/\(try json.createdID("data", "dm_event_id"))", budget: budget)
        }
        guard let other = reply.thread.split(separator: "-").map(String.init).first(where: { $0 != account.id }) else {
            throw NetworkError(.notFound, "there is no such thread")
        }
        let event: JSONValue = .object([
            "event": .object([
                "type": .string("message_create"),
                "message_create": .object([
                    "target": .object(["recipient_id": .string(other)]),
                    "message_data": .object(["text": .string(reply.text)]),
                ]),
            ])
        ])
        let request = try NetworkRequest.json("\(key.baseURL)/1.1/direct_messages/events/new.json", event)
        let (json, budget) = try await send(request, account, isWrite: true)
        return PublishedPost(id: "message/\(try json.createdID("event", "id"))", budget: budget)
    }

    func find(_ reply: NetworkReply, as account: NetworkAccount) async throws -> PublishedPost? {
        let page = try await messages(of: reply.thread, PageRequest(limit: 50), as: account)
        let item = page.items.map(\.item).first {
            $0.author?.id == account.id && Self.words($0.text) == Self.words(reply.text)
                && $0.createdAt >= reply.createdAt.addingTimeInterval(-60)
        }
        return item.map { PublishedPost(id: $0.id.native, budget: page.budget) }
    }

    func like(_ id: String, as account: NetworkAccount) async throws -> PublishedPost {
        do {
            let budget: Budget?
            if isV2(account) {
                let url = "\(key.baseURL)/2/users/\(try me(account))/likes"
                let request = try NetworkRequest.json(url, .object(["tweet_id": .string(id)]))
                budget = try await send(request, account, isWrite: true).budget
            } else {
                budget = try await send(
                    form: "\(key.baseURL)/1.1/favorites/create.json",
                    ["id": id],
                    account,
                    isWrite: true
                ).budget
            }
            return PublishedPost(id: id, budget: budget)
        } catch let error as NetworkError where error.code == "139" {
            // The tweet is a favourite already.
            return PublishedPost(id: id, budget: error.budget)
        }
    }

    // MARK: -

    private func check(_ post: NetworkPost) throws {
        var checked = post
        checked.text = Self.text(of: post)
        try Self.limits.check(checked)
        if !post.photos.isEmpty, post.video != nil {
            throw NetworkError(.invalid, "a post has photos or a video, not both", code: "mixed_media")
        }
        let gifs = post.photos.count { $0.type == "image/gif" }
        if gifs > 0, post.photos.count > 1 {
            throw NetworkError(.invalid, "a GIF cannot be combined with other photos", code: "mixed_media")
        }
    }

    /// Returns the text; for a post with only a place, the place's name, because a tweet needs text or media.
    private static func text(of post: NetworkPost) -> String {
        guard post.text.isEmpty, post.photos.isEmpty, post.video == nil, let place = post.location else {
            return post.text
        }
        if let name = place.name, !name.isEmpty { return name }
        return [place.latitude, place.longitude].compactMap { $0.map { String($0) } }.joined(separator: ", ")
    }

    private static func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }

    private func posted(_ id: String, _ account: NetworkAccount, _ budget: Budget?) -> PublishedPost {
        PublishedPost(id: id, url: "https://x.com/\(account.username ?? "i/web")/status/\(id)", budget: budget)
    }
}
