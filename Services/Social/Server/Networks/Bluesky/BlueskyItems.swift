import Foundation
import SocialAPI
import Wire

/// The parser of Bluesky's posts, notifications and chats.
struct BlueskyItems {
    let page: PageRequest

    /// Returns a post or another user's repost of it.
    ///
    /// The id of a repost contains the reposter and the post, so that a like of the repost becomes a like of the post.
    func post(_ json: JSONValue) -> NetworkItem? {
        guard let view = json["post"], var item = content(view) else { return nil }
        let uri = item.id.native
        item.raw = page.raw(json)
        if let reason = json["reason"], reason["$type"]?.text?.hasSuffix("#reasonRepost") == true,
            let by = author(reason["by"]), let at = reason["indexedAt"]?.date
        {
            item.about = ItemReference(id: item.id, url: item.url, author: item.author, text: item.text)
            item.kind = .repost
            item.id = ItemID(.bluesky, "repost/\(by.id)/\(uri)")
            item.author = by
            item.createdAt = at
        }
        return NetworkItem(item, original: uri)
    }

    func notification(_ json: JSONValue) -> Item? {
        guard let uri = json["uri"]?.nonEmpty, let at = json["indexedAt"]?.date else { return nil }
        let record = json["record"]
        let by = author(json["author"])
        let subject = json["reasonSubject"]?.nonEmpty.map { ItemID(.bluesky, $0) }
        return Item(
            id: ItemID(.bluesky, uri),
            kind: Self.kinds[json["reason"]?.text ?? ""] ?? .other,
            author: by,
            text: record?["text"]?.text ?? "",
            createdAt: at,
            url: Self.webAddress(of: uri, by: by?.username) ?? by?.url,
            about: subject.map { ItemReference(id: $0) },
            unread: json["isRead"]?.flag.map { $0 ? 0 : 1 },
            raw: page.raw(json)
        )
    }

    private static let kinds: [String: ItemKind] = [
        "like": .like, "repost": .repost, "follow": .follow, "mention": .mention, "reply": .reply, "quote": .quote,
        "like-via-repost": .like, "repost-via-repost": .repost, "subscribed-post": .post,
    ]

    func thread(_ json: JSONValue, of account: NetworkAccount) -> Item? {
        guard let id = json["id"]?.nonEmpty else { return nil }
        let last = json["lastMessage"]
        // A conversation without messages has no time.
        guard let at = last?["sentAt"]?.date else { return nil }
        let members = json["members"].list.compactMap(author)
        return Item(
            id: ItemID(.bluesky, "convo/\(id)"),
            kind: .thread,
            author: last?["sender"]?["did"]?.text.flatMap { did in members.first { $0.id == did } },
            text: last?["text"]?.text ?? "",
            createdAt: at,
            thread: id,
            participants: members.filter { $0.id != account.id },
            unread: json["unreadCount"]?.count,
            raw: page.raw(json)
        )
    }

    /// Returns nil for a deleted message, which has no text, and for a system message, which has no sender.
    func message(_ json: JSONValue, in thread: String) -> Item? {
        guard json["$type"]?.text?.hasSuffix("#deletedMessageView") != true,
            json["$type"]?.text?.hasSuffix("#systemMessageView") != true,
            let id = json["id"]?.nonEmpty, let at = json["sentAt"]?.date
        else { return nil }
        return Item(
            id: ItemID(.bluesky, "message/\(id)"),
            kind: .message,
            author: author(json["sender"]),
            text: json["text"]?.text ?? "",
            createdAt: at,
            thread: thread,
            raw: page.raw(json)
        )
    }

    // MARK: -

    /// Parses a post view.
    ///
    /// Its time is when the network indexed it, since the author can claim any time.
    private func content(_ view: JSONValue) -> Item? {
        guard let uri = view["uri"]?.nonEmpty, let at = view["indexedAt"]?.date else { return nil }
        let record = view["record"]
        let by = author(view["author"])
        var item = Item(
            id: ItemID(.bluesky, uri),
            kind: .post,
            author: by,
            text: record?["text"]?.text ?? "",
            media: media(view["embed"]),
            createdAt: at,
            url: Self.webAddress(of: uri, by: by?.username),
            stats: ItemStats(
                likes: view["likeCount"]?.count,
                comments: view["replyCount"]?.count,
                reposts: view["repostCount"]?.count
            ),
            liked: view["viewer"].map { $0["like"] != nil }
        )
        if let parent = record?["reply"]?["parent"]?["uri"]?.nonEmpty {
            item.kind = .reply
            item.about = ItemReference(id: ItemID(.bluesky, parent))
        }
        if let quoted = quoted(view["embed"]) {
            if item.kind == .post { item.kind = .quote }
            item.about = item.about ?? quoted
        }
        return item
    }

    private func author(_ json: JSONValue?) -> ItemAuthor? {
        guard let json, let did = json["did"]?.nonEmpty else { return nil }
        let handle = json["handle"]?.nonEmpty
        return ItemAuthor(
            id: did,
            name: json["displayName"]?.nonEmpty ?? handle ?? did,
            username: handle,
            avatarUrl: json["avatar"]?.link,
            url: "https://bsky.app/profile/\(handle ?? did)"
        )
    }

    /// Returns a reference to the quoted post.
    ///
    /// A blocked or deleted post has only its address.
    private func quoted(_ embed: JSONValue?) -> ItemReference? {
        guard let type = embed?["$type"]?.text, type.contains("record") else { return nil }
        let record = type.contains("recordWithMedia") ? embed?["record"]?["record"] : embed?["record"]
        guard let uri = record?["uri"]?.nonEmpty, uri.contains("/app.bsky.feed.post/") else { return nil }
        let by = author(record?["author"])
        return ItemReference(
            id: ItemID(.bluesky, uri),
            url: Self.webAddress(of: uri, by: by?.username),
            author: by,
            text: record?["value"]?["text"]?.text
        )
    }

    private func media(_ embed: JSONValue?) -> [ItemMedia] {
        guard let embed, let type = embed["$type"]?.text else { return [] }
        if type.contains("recordWithMedia") { return media(embed["media"]) }
        let size = embed["aspectRatio"]
        if let playlist = embed["playlist"]?.link {
            return [
                ItemMedia(
                    kind: .video,
                    url: playlist,
                    thumbnailUrl: embed["thumbnail"]?.link,
                    width: size?["width"]?.count,
                    height: size?["height"]?.count,
                    alt: embed["alt"]?.nonEmpty
                )
            ]
        }
        if let external = embed["external"], let uri = external["uri"]?.link {
            return [
                ItemMedia(
                    kind: .link,
                    url: uri,
                    thumbnailUrl: external["thumb"]?.link,
                    alt: external["title"]?.nonEmpty
                )
            ]
        }
        // Galleries have their images in `items`.
        return (embed["images"] ?? embed["items"]).list.compactMap { image in
            image["fullsize"]?.link.map {
                ItemMedia(
                    kind: .photo,
                    url: $0,
                    thumbnailUrl: image["thumb"]?.link,
                    width: image["aspectRatio"]?["width"]?.count,
                    height: image["aspectRatio"]?["height"]?.count,
                    alt: image["alt"]?.nonEmpty
                )
            }
        }
    }

    /// Returns the web page of a record; only posts have one.
    static func webAddress(of uri: String, by handle: String?) -> String? {
        let parts = uri.split(separator: "/").map(String.init)
        guard parts.count == 4, parts[2] == "app.bsky.feed.post" else { return nil }
        return "https://bsky.app/profile/\(handle ?? parts[1])/post/\(parts[3])"
    }
}
