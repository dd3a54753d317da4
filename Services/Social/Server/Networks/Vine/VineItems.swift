import Foundation
import SocialAPI
import Wire

/// The parser of Vine's posts and notifications; Vine sends booleans as 0 and 1, or as true and false.
struct VineItems {
    let page: PageRequest

    func post(_ json: JSONValue) -> NetworkItem? {
        guard let id = json["postId"]?.identifier, let at = json["created"]?.date else { return nil }
        var item = Item(
            id: ItemID(.vine, id),
            kind: .post,
            author: author(json),
            text: json["description"]?.text ?? "",
            media: video(json).map { [$0] } ?? [],
            location: json["venueName"]?.nonEmpty.map { ItemLocation(name: $0) },
            createdAt: at,
            url: json["permalinkUrl"]?.link ?? json["shareUrl"]?.link,
            stats: ItemStats(
                likes: json["likes"]?["count"]?.count,
                comments: json["comments"]?["count"]?.count,
                reposts: json["reposts"]?["count"]?.count,
                views: json["loops"]?["count"]?.count
            ),
            liked: json["liked"]?.flag,
            raw: page.raw(json)
        )
        // A repost is the post itself together with the reposter.
        guard let repost = json["repost"], let repostID = repost["repostId"]?.identifier else {
            return NetworkItem(item)
        }
        let original = item
        item.id = ItemID(.vine, "repost/\(repostID)/\(id)")
        item.kind = .repost
        item.author = author(repost)
        item.createdAt = repost["created"]?.date ?? at
        item.about = ItemReference(id: original.id, url: original.url, author: original.author, text: original.text)
        return NetworkItem(item, original: original.id.description)
    }

    func notification(_ json: JSONValue) -> Item? {
        guard let id = json["notificationId"]?.identifier, let at = json["created"]?.date else { return nil }
        let post = json["postId"]?.identifier.map { ItemID(.vine, $0) }
        return Item(
            id: ItemID(.vine, "notification/\(id)"),
            kind: kind(json),
            author: author(json),
            text: json["body"]?.text ?? "",
            media: json["thumbnailUrl"]?.link.map { [ItemMedia(kind: .photo, url: $0)] } ?? [],
            createdAt: at,
            about: post.map { ItemReference(id: $0) },
            raw: page.raw(json)
        )
    }

    /// Returns the kind by the text, because the meanings of the type numbers were never published.
    private func kind(_ json: JSONValue) -> ItemKind {
        let body = json["body"]?.text?.lowercased() ?? ""
        switch json["notificationTypeId"]?.count {
        case 2: return .follow
        case _ where body.contains("liked"): return .like
        case _ where body.contains("commented"): return .comment
        case _ where body.contains("revined") || body.contains("reposted"): return .repost
        case _ where body.contains("mentioned"): return .mention
        case _ where body.contains("follow"): return .follow
        default: return .other
        }
    }

    private func author(_ json: JSONValue) -> ItemAuthor? {
        guard let id = json["userId"]?.identifier else { return nil }
        let name = json["username"]?.nonEmpty
        let vanity = json["vanityUrls"].list.first?.nonEmpty
        return ItemAuthor(
            id: id,
            name: name ?? id,
            username: name,
            avatarUrl: json["avatarUrl"]?.link,
            url: vanity.map { "https://vine.co/\($0)" } ?? "https://vine.co/u/\(id)"
        )
    }

    private func video(_ json: JSONValue) -> ItemMedia? {
        (json["videoUrl"]?.link ?? json["videoLowURL"]?.link).map {
            ItemMedia(kind: .video, url: $0, thumbnailUrl: json["thumbnailUrl"]?.link)
        }
    }
}
