import Foundation
import SocialAPI
import Wire

/// The parser of API 1.1's tweets.
struct TwitterV1Items {
    let page: PageRequest

    func post(_ json: JSONValue, _ kind: ItemKind) -> NetworkItem? {
        guard let id = json["id_str"]?.identifier, let at = json["created_at"]?.date else { return nil }
        // A retweet's own text is truncated, and its counts are those of the original.
        let shown = json["retweeted_status"] ?? json
        let author = Self.author(json["user"])
        var item = Item(
            id: ItemID(.twitter, id),
            kind: kind,
            author: author,
            text: Self.text(shown),
            media: media(shown),
            location: location(shown),
            createdAt: at,
            url: Self.url(id, by: author),
            stats: ItemStats(likes: shown["favorite_count"]?.count, reposts: shown["retweet_count"]?.count),
            liked: shown["favorited"]?.flag,
            raw: page.raw(json)
        )
        if let original = json["retweeted_status"] {
            item.about = reference(original)
            if kind == .post { item.kind = .repost }
        } else if let quoted = json["quoted_status"] {
            item.about = reference(quoted)
            if kind == .post { item.kind = .quote }
        } else if let parent = json["in_reply_to_status_id_str"]?.identifier {
            item.about = ItemReference(id: ItemID(.twitter, parent))
            if kind == .post { item.kind = .reply }
        }
        let original = json["retweeted_status"]?["id_str"]?.identifier
        return NetworkItem(item, original: original.map { ItemID(.twitter, $0).description })
    }

    static func author(_ json: JSONValue?) -> ItemAuthor? {
        guard let json, let id = json["id_str"]?.identifier ?? json["id"]?.identifier else { return nil }
        let username = json["screen_name"]?.nonEmpty
        return ItemAuthor(
            id: id,
            name: json["name"]?.nonEmpty ?? username ?? id,
            username: username,
            avatarUrl: json["profile_image_url_https"]?.link ?? json["profile_image_url"]?.link,
            url: username.map { "https://twitter.com/\($0)" }
        )
    }

    static func url(_ id: String, by author: ItemAuthor?) -> String {
        "https://twitter.com/\(author?.username ?? "i/web")/status/\(id)"
    }

    /// Returns the text with entities decoded and short links expanded.
    ///
    /// Links to media are removed; media are listed.
    static func text(_ json: JSONValue) -> String {
        var text = json["full_text"]?.text ?? json["extended_tweet"]?["full_text"]?.text ?? json["text"]?.text ?? ""
        let entities = json["extended_tweet"]?["entities"] ?? json["entities"]
        for url in (entities?["urls"]).list {
            guard let short = url["url"]?.nonEmpty, let long = url["expanded_url"]?.nonEmpty else { continue }
            text = text.replacing(short, with: long)
        }
        for media in (entities?["media"]).list {
            if let short = media["url"]?.nonEmpty { text = text.replacing(short, with: "") }
        }
        return PlainText.unescaped(text).trimmingCharacters(in: .whitespaces)
    }

    private func reference(_ json: JSONValue) -> ItemReference? {
        guard let id = json["id_str"]?.identifier else { return nil }
        let author = Self.author(json["user"])
        return ItemReference(
            id: ItemID(.twitter, id),
            url: Self.url(id, by: author),
            author: author,
            text: Self.text(json)
        )
    }

    /// Returns the media; only the extended entities have more than one photo.
    private func media(_ json: JSONValue) -> [ItemMedia] {
        let extended = (json["extended_entities"] ?? json["extended_tweet"]?["extended_entities"])?["media"]
        let all = extended.list.isEmpty ? (json["entities"]?["media"]).list : extended.list
        return all.compactMap { media in
            guard let picture = media["media_url_https"]?.link ?? media["media_url"]?.link else { return nil }
            let size = media["sizes"]?["large"]
            let video = (media["video_info"]?["variants"]).list
                .filter { $0["content_type"]?.text == "video/mp4" }
                .max { ($0["bitrate"]?.double ?? 0) < ($1["bitrate"]?.double ?? 0) }?["url"]?.link
            let kinds: [String: ItemMedia.Kind] = ["video": .video, "animated_gif": .gif]
            return ItemMedia(
                kind: kinds[media["type"]?.text ?? ""] ?? .photo,
                url: video ?? picture,
                thumbnailUrl: picture,
                width: size?["w"]?.count,
                height: size?["h"]?.count,
                duration: media["video_info"]?["duration_millis"]?.double.map { $0 / 1_000 },
                alt: media["ext_alt_text"]?.nonEmpty
            )
        }
    }

    /// Returns the location; GeoJSON has the longitude first.
    private func location(_ json: JSONValue) -> ItemLocation? {
        let point = (json["coordinates"]?["coordinates"]).list.compactMap(\.double)
        let name = json["place"]?["full_name"]?.nonEmpty
        guard point.count == 2 || name != nil else { return nil }
        return ItemLocation(
            latitude: point.count == 2 ? point[1] : nil,
            longitude: point.count == 2 ? point[0] : nil,
            name: name
        )
    }
}

/// The parser of direct messages of both APIs.
///
/// Two user ids or a conversation's own id identify a thread.
struct DirectMessageItems {
    let page: PageRequest
    let me: String?
    let people: [String: ItemAuthor]

    /// Parses a `message_create` event of API 1.1.
    ///
    /// The thread's id is that of API 2, with the smaller user id first.
    func v1Message(_ json: JSONValue) -> Item? {
        let message = json["message_create"]
        guard let id = json["id"]?.identifier, let sender = message?["sender_id"]?.identifier,
            let recipient = message?["target"]?["recipient_id"]?.identifier,
            let at = json["created_timestamp"]?.epochMilliseconds
        else { return nil }
        let data = message?["message_data"]
        let pair = [sender, recipient].sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
        return item(id, by: sender, TwitterV1Items.text(data ?? .null), at, in: pair.joined(separator: "-"), json)
    }

    /// Parses an entry of `dm_events` of API 2.
    func v2Message(_ json: JSONValue, in thread: String? = nil) -> Item? {
        guard json["event_type"]?.text == "MessageCreate", let id = json["id"]?.identifier,
            let sender = json["sender_id"]?.identifier, let at = json["created_at"]?.date,
            let thread = thread ?? json["dm_conversation_id"]?.identifier
        else { return nil }
        return item(id, by: sender, PlainText.unescaped(json["text"]?.text ?? ""), at, in: thread, json)
    }

    /// Returns a thread for each conversation with a message here, by its latest message.
    func threads(_ messages: [Item]) -> [Item] {
        var indices: [String: Int] = [:]
        var threads: [Item] = []
        for message in messages {
            guard let thread = message.thread else { continue }
            if let index = indices[thread] {
                threads[index].participants = with(message.author, threads[index].participants ?? [])
                continue
            }
            var item = message
            item.id = ItemID(.twitter, "thread/\(thread)")
            item.kind = .thread
            item.participants = with(message.author, others(thread))
            indices[thread] = threads.count
            threads.append(item)
        }
        return threads
    }

    private func with(_ author: ItemAuthor?, _ people: [ItemAuthor]) -> [ItemAuthor] {
        guard let author, author.id != me, !people.contains(where: { $0.id == author.id }) else { return people }
        return people + [author]
    }

    private func others(_ thread: String) -> [ItemAuthor] {
        thread.split(separator: "-").map(String.init).filter { $0 != me && thread.contains("-") }.map(author)
    }

    private func author(_ id: String) -> ItemAuthor { people[id] ?? ItemAuthor(id: id, name: id) }

    private func item(
        _ id: String,
        by sender: String,
        _ text: String,
        _ at: Date,
        in thread: String,
        _ json: JSONValue
    ) -> Item {
        Item(
            id: ItemID(.twitter, "message/\(id)"),
            kind: .message,
            author: author(sender),
            text: text,
            createdAt: at,
            thread: thread,
            raw: page.raw(json)
        )
    }
}
