import Foundation
import SocialAPI
import Wire

/// The parser of Mastodon's statuses, conversations and notifications.
struct MastodonItems {
    let page: PageRequest

    /// Parses a status or a boost.
    ///
    /// A boost has its own id and time, and the content of the boosted status.
    func post(_ json: JSONValue) -> NetworkItem? {
        guard let id = json["id"]?.identifier, let createdAt = json["created_at"]?.date else { return nil }
        let shown = json["reblog"] ?? json
        var item = content(shown, id: id, createdAt: createdAt)
        item.author = author(json["account"])
        item.raw = page.raw(json)
        if let original = json["reblog"] {
            item.kind = .repost
            item.about = reference(original)
        } else if let quoted = json["quote"]?["quoted_status"] {
            item.kind = .quote
            item.about = reference(quoted)
        } else if let parent = json["in_reply_to_id"]?.identifier {
            item.kind = .reply
            item.about = ItemReference(id: ItemID(.mastodon, parent))
        }
        return NetworkItem(item, original: shown["uri"]?.nonEmpty)
    }

    func message(_ json: JSONValue, in thread: String) -> Item? {
        guard let id = json["id"]?.identifier, let createdAt = json["created_at"]?.date else { return nil }
        var item = content(json, id: id, createdAt: createdAt)
        item.kind = .message
        item.author = author(json["account"])
        item.thread = thread
        item.raw = page.raw(json)
        return item
    }

    /// Returns nil for a conversation whose last status was deleted, because no other status leads to it.
    func thread(_ json: JSONValue) -> Item? {
        guard let id = json["id"]?.identifier, let last = json["last_status"],
            let status = last["id"]?.identifier, let createdAt = last["created_at"]?.date
        else { return nil }
        return Item(
            id: ItemID(.mastodon, "conversation/\(id)"),
            kind: .thread,
            author: author(last["account"]),
            text: text(last),
            createdAt: createdAt,
            url: last["url"]?.link,
            thread: status,
            participants: json["accounts"].list.compactMap(author),
            unread: json["unread"]?.flag.map { $0 ? 1 : 0 },
            raw: page.raw(json)
        )
    }

    /// Returns nil for a mention in a private message, which is in the list of messages.
    func notification(_ json: JSONValue) -> Item? {
        guard json["type"]?.text != "mention" || json["status"]?["visibility"]?.text != "direct" else { return nil }
        guard let id = json["id"]?.identifier, let createdAt = json["created_at"]?.date else { return nil }
        let status = json["status"]
        return Item(
            // Notifications have their own numbers, so a status may have the same one.
            id: ItemID(.mastodon, "notification/\(id)"),
            kind: Self.kinds[json["type"]?.text ?? ""] ?? .other,
            author: author(json["account"]),
            text: status.map(text) ?? "",
            createdAt: createdAt,
            url: status?["url"]?.link ?? json["account"]?["url"]?.link,
            about: status.flatMap(reference),
            raw: page.raw(json)
        )
    }

    private static let kinds: [String: ItemKind] = [
        "mention": .mention, "status": .post, "reblog": .repost, "follow": .follow, "follow_request": .follow,
        "favourite": .like, "quote": .quote,
    ]

    private func content(_ json: JSONValue, id: String, createdAt: Date) -> Item {
        Item(
            id: ItemID(.mastodon, id),
            kind: .post,
            text: text(json),
            media: json["media_attachments"].list.compactMap(media),
            createdAt: createdAt,
            updatedAt: json["edited_at"]?.date,
            url: json["url"]?.link ?? json["uri"]?.link,
            stats: ItemStats(
                likes: json["favourites_count"]?.count,
                comments: json["replies_count"]?.count,
                reposts: json["reblogs_count"]?.count
            ),
            liked: json["favourited"]?.flag
        )
    }

    /// Returns the text, after the content warning if there is one.
    private func text(_ json: JSONValue) -> String {
        let content = PlainText.ofHTML(json["content"]?.text ?? "")
        guard let warning = json["spoiler_text"]?.nonEmpty else { return content }
        return content.isEmpty ? warning : "\(warning)\n\n\(content)"
    }

    private func author(_ json: JSONValue?) -> ItemAuthor? {
        guard let json, let id = json["id"]?.identifier else { return nil }
        let username = json["acct"]?.nonEmpty ?? json["username"]?.nonEmpty
        return ItemAuthor(
            id: id,
            name: json["display_name"]?.nonEmpty ?? username ?? id,
            username: username,
            avatarUrl: json["avatar"]?.link,
            url: json["url"]?.link
        )
    }

    private func reference(_ json: JSONValue) -> ItemReference? {
        guard let id = json["id"]?.identifier else { return nil }
        return ItemReference(
            id: ItemID(.mastodon, id),
            url: json["url"]?.link,
            author: author(json["account"]),
            text: text(json)
        )
    }

    private func media(_ json: JSONValue) -> ItemMedia? {
        // Media without `url` are still being processed, or were removed from this instance's cache.
        guard let url = json["url"]?.link ?? json["remote_url"]?.link else { return nil }
        let kinds: [String: ItemMedia.Kind] = ["image": .photo, "video": .video, "gifv": .gif, "audio": .audio]
        let original = json["meta"]?["original"]
        return ItemMedia(
            kind: kinds[json["type"]?.text ?? ""] ?? .other,
            url: url,
            thumbnailUrl: json["preview_url"]?.link,
            width: original?["width"]?.count,
            height: original?["height"]?.count,
            duration: original?["duration"]?.double,
            alt: json["description"]?.nonEmpty
        )
    }
}
