import Foundation
import OAuth1
import SocialAPI
import Wire

extension TwitterConnector {
    private struct Position: Codable { var token: String }

    private static let postFields: KeyValuePairs<String, String?> = [
        "tweet.fields":
            "created_at,author_id,attachments,entities,public_metrics,referenced_tweets,geo,conversation_id,note_tweet",
        "expansions":
            "author_id,attachments.media_keys,referenced_tweets.id,referenced_tweets.id.author_id,geo.place_id",
        "user.fields": "name,username,profile_image_url",
        "media.fields": "url,preview_image_url,type,variants,alt_text,width,height,duration_ms",
        "place.fields": "full_name,geo",
    ]

    func posts(
        _ path: String,
        _ page: PageRequest,
        _ account: NetworkAccount,
        _ kind: ItemKind
    ) async throws -> NetworkPage {
        // The list of mentions requires a limit of at least 5; the same limit is used for all lists.
        let fields: KeyValuePairs = [
            "max_results": String(min(max(page.limit, 5), 100)), "pagination_token": try position(page),
        ]
        let (json, budget) = try await send(.get((key.baseURL + path).adding(fields).adding(Self.postFields)), account)
        let parser = TwitterV2Items(page: page, response: json)
        // A response without results has no list.
        return NetworkPage(
            json["data"].list.compactMap { parser.post($0, kind) },
            next: try next(json, after: page),
            budget: budget
        )
    }

    func v2Threads(_ page: PageRequest, _ account: NetworkAccount) async throws -> NetworkPage {
        let (json, budget) = try await messages("/2/dm_events", page, account)
        let parser = messageItems(page, account, json)
        let threads = parser.threads(json["data"].list.compactMap { parser.v2Message($0) })
        return NetworkPage(threads.map { NetworkItem($0) }, next: try next(json, after: page), budget: budget)
    }

    func v2Messages(_ thread: String, _ page: PageRequest, _ account: NetworkAccount) async throws -> NetworkPage {
        let path = "/2/dm_conversations/\(thread.pathSegment)/dm_events"
        let (json, budget) = try await messages(path, page, account)
        let parser = messageItems(page, account, json)
        return NetworkPage(
            json["data"].list.compactMap { parser.v2Message($0, in: thread).map { NetworkItem($0) } },
            next: try next(json, after: page),
            budget: budget
        )
    }

    private func messages(
        _ path: String,
        _ page: PageRequest,
        _ account: NetworkAccount
    ) async throws -> (json: JSONValue, budget: Budget?) {
        let fields: KeyValuePairs = [
            "dm_event.fields": "id,text,event_type,created_at,sender_id,dm_conversation_id,attachments,participant_ids",
            "event_types": "MessageCreate", "expansions": "sender_id,participant_ids",
            "user.fields": "name,username,profile_image_url", "max_results": page.limit(100),
            "pagination_token": try position(page),
        ]
        return try await send(.get((key.baseURL + path).adding(fields)), account)
    }

    private func messageItems(_ page: PageRequest, _ account: NetworkAccount, _ json: JSONValue) -> DirectMessageItems {
        let authors = (json["includes"]?["users"]).list.compactMap { TwitterV2Items.author($0) }
        return DirectMessageItems(
            page: page,
            me: account.id,
            people: Dictionary(authors.map { ($0.id, $0) }) { first, _ in first }
        )
    }

    private func position(_ page: PageRequest) throws -> String? { try page.position(Position.self)?.token }

    private func next(_ json: JSONValue, after page: PageRequest) throws -> NetworkCursor? {
        let nextToken = json["meta"]?["next_token"]?.nonEmpty
        let token = ListCursor.next(nextToken, after: try position(page), isEmpty: json["data"].list.isEmpty)
        return try token.map { try NetworkCursor(Position(token: $0)) }
    }
}

/// The parser of API 2's posts, whose authors, media and places are listed separately.
struct TwitterV2Items {
    private let page: PageRequest
    private let users: [String: ItemAuthor]
    private let posts: [String: JSONValue]
    private let media: [String: JSONValue]
    private let places: [String: JSONValue]

    init(page: PageRequest, response: JSONValue) {
        self.page = page
        let includes = response["includes"]
        func indexed(_ name: String, by key: String) -> [String: JSONValue] {
            let pairs = (includes?[name]).list.compactMap { value in value[key]?.identifier.map { ($0, value) } }
            return Dictionary(pairs) { first, _ in first }
        }
        users = indexed("users", by: "id").compactMapValues { Self.author($0) }
        posts = indexed("tweets", by: "id")
        media = indexed("media", by: "media_key")
        places = indexed("places", by: "id")
    }

    static func author(_ json: JSONValue) -> ItemAuthor? {
        guard let id = json["id"]?.identifier else { return nil }
        let username = json["username"]?.nonEmpty
        return ItemAuthor(
            id: id,
            name: json["name"]?.nonEmpty ?? username ?? id,
            username: username,
            avatarUrl: json["profile_image_url"]?.link,
            url: username.map { "https://x.com/\($0)" }
        )
    }

    func post(_ json: JSONValue, _ kind: ItemKind) -> NetworkItem? {
        guard let id = json["id"]?.identifier, let at = json["created_at"]?.date else { return nil }
        let links = json["referenced_tweets"].list
        func linked(_ type: String) -> String? { links.first { $0["type"]?.text == type }?["id"]?.identifier }
        let retweeted = linked("retweeted")
        let shown = retweeted.flatMap { posts[$0] } ?? json
        let author = author(of: json)
        var item = Item(
            id: ItemID(.twitter, id),
            kind: kind,
            author: author,
            text: text(shown),
            media: (shown["attachments"]?["media_keys"]).list.compactMap { key in
                key.text.flatMap { media[$0] }.flatMap(medium)
            },
            location: location(shown),
            createdAt: at,
            url: "https://x.com/\(author?.username ?? "i/web")/status/\(id)",
            stats: stats(shown),
            raw: page.raw(json)
        )
        if let about = retweeted ?? linked("quoted") ?? linked("replied_to") {
            item.about = reference(about)
            if kind == .post {
                item.kind = retweeted != nil ? .repost : linked("quoted") != nil ? .quote : .reply
            }
        }
        return NetworkItem(item, original: retweeted.map { ItemID(.twitter, $0).description })
    }

    private func author(of json: JSONValue) -> ItemAuthor? {
        json["author_id"]?.identifier.map { users[$0] ?? ItemAuthor(id: $0, name: $0) }
    }

    /// Returns the text, in full for a long post, with entities handled as in API 1.1.
    private func text(_ json: JSONValue) -> String {
        var text = json["note_tweet"]?["text"]?.text ?? json["text"]?.text ?? ""
        let urls = ((json["note_tweet"]?["entities"] ?? json["entities"])?["urls"]).list
        for url in urls {
            guard let short = url["url"]?.nonEmpty else { continue }
            let isMedia = url["media_key"] != nil
            text = text.replacing(short, with: isMedia ? "" : url["expanded_url"]?.nonEmpty ?? short)
        }
        return PlainText.unescaped(text).trimmingCharacters(in: .whitespaces)
    }

    private func stats(_ json: JSONValue) -> ItemStats {
        let counts = json["public_metrics"]
        return ItemStats(
            likes: counts?["like_count"]?.count,
            comments: counts?["reply_count"]?.count,
            reposts: counts?["retweet_count"]?.count,
            views: counts?["impression_count"]?.count
        )
    }

    private func reference(_ id: String) -> ItemReference {
        let json = posts[id]
        let by = json.flatMap { author(of: $0) }
        return ItemReference(
            id: ItemID(.twitter, id),
            url: "https://x.com/\(by?.username ?? "i/web")/status/\(id)",
            author: by,
            text: json.map(text)
        )
    }

    private func medium(_ json: JSONValue) -> ItemMedia? {
        let video = json["variants"].list
            .filter { $0["content_type"]?.text == "video/mp4" }
            .max { ($0["bit_rate"]?.double ?? 0) < ($1["bit_rate"]?.double ?? 0) }?["url"]?.link
        let picture = json["url"]?.link ?? json["preview_image_url"]?.link
        guard let url = video ?? picture else { return nil }
        let kinds: [String: ItemMedia.Kind] = ["video": .video, "animated_gif": .gif, "photo": .photo]
        return ItemMedia(
            kind: kinds[json["type"]?.text ?? ""] ?? .other,
            url: url,
            thumbnailUrl: picture,
            width: json["width"]?.count,
            height: json["height"]?.count,
            duration: json["duration_ms"]?.double.map { $0 / 1_000 },
            alt: json["alt_text"]?.nonEmpty
        )
    }

    private func location(_ json: JSONValue) -> ItemLocation? {
        guard let geo = json["geo"] else { return nil }
        let place = geo["place_id"]?.identifier.flatMap { places[$0] }
        let point = (geo["coordinates"]?["coordinates"]).list.compactMap(\.double)
        guard place != nil || point.count == 2 else { return nil }
        return ItemLocation(
            latitude: point.count == 2 ? point[1] : nil,
            longitude: point.count == 2 ? point[0] : nil,
            name: place?["full_name"]?.nonEmpty
        )
    }
}
