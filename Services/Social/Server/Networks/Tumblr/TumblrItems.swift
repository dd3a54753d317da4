import Foundation
import SocialAPI
import Wire

/// The parser of Tumblr's posts, with blocks or of the older types, and of its activity.
struct TumblrItems {
    let page: PageRequest

    func post(_ json: JSONValue) -> NetworkItem? {
        guard let number = json["id_string"]?.identifier ?? json["id"]?.identifier, let at = json["timestamp"]?.epoch,
            let blog = json["blog_name"]?.nonEmpty ?? json["blog"]?["name"]?.nonEmpty
        else { return nil }
        let trail = json["trail"].list
        let blocks = trail.flatMap { $0["content"].list } + json["content"].list
        let isReblog = !trail.isEmpty || json["reblogged_from_id"]?.identifier != nil
        var item = Item(
            id: ItemID(.tumblr, "\(blog)/\(number)"),
            kind: isReblog ? .repost : .post,
            author: author(json["blog"], named: blog),
            text: blocks.isEmpty ? legacyText(json) : text(blocks),
            media: blocks.isEmpty ? legacyMedia(json) : blocks.compactMap(media),
            createdAt: at,
            url: json["post_url"]?.link,
            stats: ItemStats(likes: json["note_count"]?.count),
            liked: json["liked"]?.flag,
            raw: page.raw(json)
        )
        let original = isReblog ? root(json, trail) : nil
        if let original {
            item.about = original
            // A reblog with text of its own is a quote.
            if !json["content"].list.isEmpty, !trail.isEmpty { item.kind = .quote }
        }
        return NetworkItem(item, original: item.kind == .repost ? original?.id.description : nil)
    }

    func notification(_ json: JSONValue, to blog: String) -> Item? {
        guard let at = json["timestamp"]?.epoch, let type = json["type"]?.text else { return nil }
        let from = json["from_tumblelog_name"]?.nonEmpty
        // Not every notification has an id; its type, sender, post and time identify it.
        let id =
            json["id"]?.identifier
            ?? [type, from, json["target_post_id"]?.identifier, String(Int(at.timeIntervalSince1970))]
            .compactMap { $0 }.joined(separator: "-")
        let target = json["target_post_id"]?.identifier.map { ItemID(.tumblr, "\(blog)/\($0)") }
        return Item(
            id: ItemID(.tumblr, "activity/\(id)"),
            kind: Self.kinds[type] ?? .other,
            author: from.map { name in
                ItemAuthor(
                    id: json["from_tumblelog_uuid"]?.nonEmpty ?? name,
                    name: name,
                    username: name,
                    url: "https://\(name).tumblr.com/"
                )
            },
            text: json["reply_text"]?.text ?? json["added_text"]?.text ?? "",
            createdAt: at,
            about: target.map { ItemReference(id: $0, text: json["target_post_summary"]?.text) },
            unread: json["unread"]?.flag.map { $0 ? 1 : 0 },
            raw: page.raw(json)
        )
    }

    private static let kinds: [String: ItemKind] = [
        "like": .like, "reply": .comment, "follow": .follow, "mention_in_reply": .mention, "mention_in_post": .mention,
        "reblog_naked": .repost, "reblog_with_content": .quote, "ask": .message, "post_attribution": .mention,
    ]

    // MARK: -

    private func author(_ blog: JSONValue?, named name: String) -> ItemAuthor {
        ItemAuthor(
            id: blog?["uuid"]?.nonEmpty ?? name,
            name: blog?["title"]?.nonEmpty ?? name,
            username: name,
            avatarUrl: (blog?["avatar"]).list.first?["url"]?.link,
            url: blog?["url"]?.link ?? "https://\(name).tumblr.com/"
        )
    }

    private func root(_ json: JSONValue, _ trail: [JSONValue]) -> ItemReference? {
        if let first = trail.first, let number = first["post"]?["id"]?.identifier,
            let blog = first["blog"]?["name"]?.nonEmpty ?? first["broken_blog"]?["name"]?.nonEmpty
        {
            return ItemReference(
                id: ItemID(.tumblr, "\(blog)/\(number)"),
                author: author(first["blog"], named: blog),
                text: text(first["content"].list)
            )
        }
        guard let number = json["reblogged_root_id"]?.identifier ?? json["reblogged_from_id"]?.identifier,
            let blog = json["reblogged_root_name"]?.nonEmpty ?? json["reblogged_from_name"]?.nonEmpty
        else { return nil }
        return ItemReference(
            id: ItemID(.tumblr, "\(blog)/\(number)"),
            url: json["reblogged_root_url"]?.link ?? json["reblogged_from_url"]?.link,
            author: author(nil, named: blog)
        )
    }

    private func text(_ blocks: [JSONValue]) -> String {
        blocks.compactMap { block in
            switch block["type"]?.text {
            case "text": block["text"]?.text
            case "link": [block["title"]?.nonEmpty, block["url"]?.nonEmpty].compactMap { $0 }.joined(separator: "\n")
            default: nil
            }
        }.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private func media(_ block: JSONValue) -> ItemMedia? {
        // A photo has several sizes, the largest first; a video has one.
        let file = block["media"].flatMap { $0.list.first ?? ($0.fields.isEmpty ? nil : $0) }
        let kinds: [String: ItemMedia.Kind] = ["image": .photo, "video": .video, "audio": .audio]
        guard let kind = kinds[block["type"]?.text ?? ""], let url = file?["url"]?.link ?? block["url"]?.link else {
            return nil
        }
        return ItemMedia(
            kind: kind == .photo && file?["type"]?.text == "image/gif" ? .gif : kind,
            url: url,
            thumbnailUrl: block["poster"].list.first?["url"]?.link,
            width: file?["width"]?.count,
            height: file?["height"]?.count,
            alt: block["alt_text"]?.nonEmpty
        )
    }

    // MARK: Posts without blocks, the older types

    private func legacyText(_ json: JSONValue) -> String {
        var parts = [json["title"]?.nonEmpty]
        parts.append(
            contentsOf: ["body", "caption", "description", "text", "source"].map {
                json[$0]?.nonEmpty.map(PlainText.ofHTML)
            }
        )
        parts += [json["question"]?.nonEmpty, json["answer"]?.nonEmpty.map(PlainText.ofHTML)]
        parts += json["dialogue"].list.map { line in
            [line["label"]?.nonEmpty ?? line["name"]?.nonEmpty, line["phrase"]?.nonEmpty].compactMap { $0 }.joined(
                separator: " "
            )
        }
        return parts.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private func legacyMedia(_ json: JSONValue) -> [ItemMedia] {
        let photos = json["photos"].list.compactMap { photo -> ItemMedia? in
            let size = photo["original_size"]
            return size?["url"]?.link.map {
                ItemMedia(
                    kind: .photo,
                    url: $0,
                    thumbnailUrl: photo["alt_sizes"].list.last?["url"]?.link,
                    width: size?["width"]?.count,
                    height: size?["height"]?.count,
                    alt: photo["caption"]?.nonEmpty
                )
            }
        }
        let video = json["video_url"]?.link.map {
            ItemMedia(
                kind: .video,
                url: $0,
                thumbnailUrl: json["thumbnail_url"]?.link,
                width: json["thumbnail_width"]?.count,
                height: json["thumbnail_height"]?.count,
                duration: json["duration"]?.double
            )
        }
        let audio = json["audio_url"]?.link.map { ItemMedia(kind: .audio, url: $0) }
        let link = json["type"]?.text == "link" ? json["url"]?.link.map { ItemMedia(kind: .link, url: $0) } : nil
        return photos + [video, audio, link].compactMap { $0 }
    }
}
