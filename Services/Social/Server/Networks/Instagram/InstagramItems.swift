import Foundation
import SocialAPI
import Wire

/// The parser of Instagram's media, conversations and messages, for both APIs.
struct InstagramItems {
    let page: PageRequest

    static let fields =
        "id,caption,media_type,media_product_type,media_url,thumbnail_url,permalink,timestamp,username,like_count,"
        + "comments_count,children{media_url,media_type,thumbnail_url}"

    /// Parses media of the Graph API, which are always the account's own.
    func media(_ json: JSONValue, of account: NetworkAccount) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["timestamp"]?.date else { return nil }
        let username = json["username"]?.nonEmpty ?? account.username
        let children = (json["children"]?["data"]).list
        return Item(
            id: ItemID(.instagram, id),
            kind: .post,
            author: ItemAuthor(
                id: account.id ?? username ?? "",
                name: username ?? account.id ?? "",
                username: username,
                url: username.map { "https://www.instagram.com/\($0)/" }
            ),
            text: json["caption"]?.text ?? "",
            media: (children.isEmpty ? [json] : children).compactMap(file),
            createdAt: at,
            url: json["permalink"]?.link,
            stats: ItemStats(likes: json["like_count"]?.count, comments: json["comments_count"]?.count),
            raw: page.raw(json)
        )
    }

    private func file(_ json: JSONValue) -> ItemMedia? {
        let isVideo = json["media_type"]?.text == "VIDEO"
        return json["media_url"]?.link.map {
            ItemMedia(kind: isVideo ? .video : .photo, url: $0, thumbnailUrl: json["thumbnail_url"]?.link)
        }
    }

    func v1Post(_ json: JSONValue) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["created_time"]?.epoch else { return nil }
        return Item(
            id: ItemID(.instagram, id),
            kind: .post,
            author: author(json["user"]),
            text: json["caption"]?["text"]?.text ?? "",
            media: [v1File(json)].compactMap { $0 },
            location: location(json["location"]),
            createdAt: at,
            url: json["link"]?.link,
            stats: ItemStats(likes: json["likes"]?["count"]?.count, comments: json["comments"]?["count"]?.count),
            liked: json["user_has_liked"]?.flag,
            raw: page.raw(json)
        )
    }

    /// Returns the comments on media, and the likes, which have no time and get that of the media.
    func reactions(to json: JSONValue, of account: NetworkAccount) -> [Item] {
        guard let post = v1Post(json) else { return [] }
        let about = ItemReference(id: post.id, url: post.url, author: post.author, text: post.text)
        let comments = (json["comments"]?["data"]).list.compactMap { comment -> Item? in
            guard let id = comment["id"]?.identifier, let at = comment["created_time"]?.epoch,
                let by = author(comment["from"]), by.id != account.id
            else { return nil }
            return Item(
                id: ItemID(.instagram, "comment/\(id)"),
                kind: .comment,
                author: by,
                text: comment["text"]?.text ?? "",
                createdAt: at,
                url: post.url,
                about: about,
                raw: page.raw(comment)
            )
        }
        let likes = (json["likes"]?["data"]).list.compactMap { like -> Item? in
            guard let by = author(like), by.id != account.id else { return nil }
            return Item(
                id: ItemID(.instagram, "like/\(post.id.native)/\(by.id)"),
                kind: .like,
                author: by,
                createdAt: post.createdAt,
                url: post.url,
                about: about,
                raw: page.raw(like)
            )
        }
        return comments + likes
    }

    func conversation(_ json: JSONValue, of account: NetworkAccount) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["updated_time"]?.date else { return nil }
        let last = (json["messages"]?["data"]).list.first
        let people = (json["participants"]?["data"]).list.compactMap(author)
        return Item(
            id: ItemID(.instagram, "conversation/\(id)"),
            kind: .thread,
            author: author(last?["from"]),
            text: last?["message"]?.text ?? "",
            createdAt: at,
            thread: id,
            participants: people.filter { $0.id != account.id },
            raw: page.raw(json)
        )
    }

    func message(_ json: JSONValue, in thread: String) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["created_time"]?.date else { return nil }
        let files = (json["attachments"]?["data"]).list.compactMap { file -> ItemMedia? in
            let video = file["video_data"]?["url"]?.link
            let url = file["image_data"]?["url"]?.link ?? video ?? file["file_url"]?.link
            return url.map {
                ItemMedia(kind: file["image_data"] != nil ? .photo : video != nil ? .video : .other, url: $0)
            }
        }
        return Item(
            id: ItemID(.instagram, id),
            kind: .message,
            author: author(json["from"]),
            text: json["message"]?.text ?? "",
            media: files,
            createdAt: at,
            thread: thread,
            raw: page.raw(json)
        )
    }

    private func author(_ json: JSONValue?) -> ItemAuthor? {
        guard let json, let id = json["id"]?.identifier else { return nil }
        let username = json["username"]?.nonEmpty
        return ItemAuthor(
            id: id,
            name: json["full_name"]?.nonEmpty ?? json["name"]?.nonEmpty ?? username ?? id,
            username: username,
            avatarUrl: json["profile_picture"]?.link,
            url: username.map { "https://www.instagram.com/\($0)/" }
        )
    }

    private func location(_ json: JSONValue?) -> ItemLocation? {
        guard let json else { return nil }
        return ItemLocation(
            latitude: json["latitude"]?.double,
            longitude: json["longitude"]?.double,
            name: json["name"]?.nonEmpty
        )
    }

    private func v1File(_ json: JSONValue) -> ItemMedia? {
        let image = json["images"]?["standard_resolution"] ?? json["images"]?["low_resolution"]
        let thumbnail = json["images"]?["thumbnail"]?["url"]?.link
        let video = json["videos"]?["standard_resolution"] ?? json["videos"]?["low_resolution"]
        let shown = json["type"]?.text == "video" ? video ?? image : image
        return shown?["url"]?.link.map {
            ItemMedia(
                kind: json["type"]?.text == "video" && video != nil ? .video : .photo,
                url: $0,
                thumbnailUrl: thumbnail,
                width: shown?["width"]?.count,
                height: shown?["height"]?.count
            )
        }
    }
}
