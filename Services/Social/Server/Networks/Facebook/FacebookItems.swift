import Foundation
import SocialAPI
import Wire

/// The parser of Facebook's posts, threads, messages and notifications, for both generations of the API.
struct FacebookItems {
    let page: PageRequest

    /// The fields to request, because Facebook has returned few fields by default since 2015.
    static let pageFields =
        "id,from,message,story,created_time,updated_time,permalink_url,place,attachments,status_type,parent_id,"
        + "likes.limit(0).summary(true),comments.limit(0).summary(true),shares"
    static let homeFields =
        "id,from,message,story,type,status_type,link,picture,source,object_id,place,created_time,updated_time,"
        + "likes.limit(0).summary(true),comments.limit(0).summary(true),shares"

    func post(_ json: JSONValue) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["created_time"]?.date else { return nil }
        let updated = json["updated_time"]?.date
        return Item(
            id: ItemID(.facebook, id),
            kind: json["parent_id"]?.identifier == nil ? .post : .repost,
            author: author(json["from"]),
            text: json["message"]?.nonEmpty ?? json["story"]?.text ?? "",
            media: media(json),
            location: location(json["place"]),
            createdAt: at,
            updatedAt: updated == at ? nil : updated,
            url: json["permalink_url"]?.link ?? permalink(id),
            stats: ItemStats(
                likes: total(json["likes"]),
                comments: total(json["comments"]),
                reposts: json["shares"]?["count"]?.count
            ),
            liked: json["likes"]?["summary"]?["has_liked"]?.flag,
            about: json["parent_id"]?.identifier.map { ItemReference(id: ItemID(.facebook, $0)) },
            raw: page.raw(json)
        )
    }

    /// Parses a notification of the 2015 API; the whole text is in `title`.
    func notification(_ json: JSONValue) -> Item? {
        guard let id = json["id"]?.identifier, let at = (json["updated_time"] ?? json["created_time"])?.date else {
            return nil
        }
        let kinds: [String: ItemKind] = [
            "Likes": .like, "Feed Comments": .comment, "Comments": .comment, "Photos": .tag, "Tags": .tag,
            "Wall": .mention, "Friends": .follow,
        ]
        return Item(
            id: ItemID(.facebook, id),
            kind: kinds[json["application"]?["name"]?.text ?? ""] ?? .other,
            author: author(json["from"]),
            text: json["title"]?.text ?? "",
            createdAt: at,
            url: json["link"]?.link,
            about: json["object"]?["id"]?.identifier.map { ItemReference(id: ItemID(.facebook, $0)) },
            unread: json["unread"]?.flag.map { $0 ? 1 : 0 },
            raw: page.raw(json)
        )
    }

    func inboxThread(_ json: JSONValue, of account: NetworkAccount) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["updated_time"]?.date else { return nil }
        let last = (json["comments"]?["data"]).list.compactMap { message($0, in: id) }.max {
            $0.createdAt < $1.createdAt
        }
        return Item(
            id: ItemID(.facebook, id),
            kind: .thread,
            author: last?.author,
            text: last?.text ?? "",
            createdAt: at,
            thread: id,
            participants: people(json["to"], but: account),
            unread: json["unread"]?.count,
            raw: page.raw(json)
        )
    }

    func conversation(_ json: JSONValue, of account: NetworkAccount) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["updated_time"]?.date else { return nil }
        return Item(
            id: ItemID(.facebook, id),
            kind: .thread,
            text: json["snippet"]?.text ?? "",
            createdAt: at,
            url: json["link"]?.nonEmpty.map { $0.hasPrefix("/") ? "https://www.facebook.com\($0)" : $0 },
            thread: id,
            participants: people(json["participants"], but: account),
            unread: json["unread_count"]?.count,
            raw: page.raw(json)
        )
    }

    func message(_ json: JSONValue, in thread: String) -> Item? {
        guard let id = json["id"]?.identifier, let at = json["created_time"]?.date else { return nil }
        return Item(
            id: ItemID(.facebook, id),
            kind: .message,
            author: author(json["from"]),
            text: json["message"]?.text ?? "",
            media: (json["attachments"]?["data"]).list.compactMap(attachment),
            createdAt: at,
            thread: thread,
            raw: page.raw(json)
        )
    }

    // MARK: -

    private func author(_ json: JSONValue?) -> ItemAuthor? {
        guard let json, let id = json["id"]?.identifier else { return nil }
        return ItemAuthor(
            id: id,
            name: json["name"]?.nonEmpty ?? id,
            avatarUrl: json["picture"]?["data"]?["url"]?.link,
            url: "https://www.facebook.com/\(id)"
        )
    }

    private func people(_ json: JSONValue?, but account: NetworkAccount) -> [ItemAuthor] {
        (json?["data"]).list.compactMap(author).filter { $0.id != account.id }
    }

    private func permalink(_ id: String) -> String {
        let parts = id.split(separator: "_")
        return parts.count == 2
            ? "https://www.facebook.com/\(parts[0])/posts/\(parts[1])" : "https://www.facebook.com/\(id)"
    }

    /// Returns a count, which is in the requested summary, or in `count` of the 2015 API.
    private func total(_ json: JSONValue?) -> Int? {
        json?["summary"]?["total_count"]?.count ?? json?["count"]?.count
    }

    private func location(_ json: JSONValue?) -> ItemLocation? {
        guard let json else { return nil }
        return ItemLocation(
            latitude: json["location"]?["latitude"]?.double,
            longitude: json["location"]?["longitude"]?.double,
            name: json["name"]?.nonEmpty
        )
    }

    private func media(_ json: JSONValue) -> [ItemMedia] {
        let attachments = (json["attachments"]?["data"]).list.flatMap { attachment in
            let parts = (attachment["subattachments"]?["data"]).list
            return parts.isEmpty ? [attachment] : parts
        }
        guard attachments.isEmpty else { return attachments.compactMap(medium) }
        // The 2015 API has one picture, or the target of a link.
        let picture = json["picture"]?.link ?? json["full_picture"]?.link
        if json["type"]?.text == "video", let url = json["source"]?.link ?? json["link"]?.link {
            return [ItemMedia(kind: .video, url: url, thumbnailUrl: picture)]
        }
        if json["type"]?.text == "link", let url = json["link"]?.link {
            return [ItemMedia(kind: .link, url: url, thumbnailUrl: picture)]
        }
        return picture.map { [ItemMedia(kind: .photo, url: $0)] } ?? []
    }

    private func medium(_ json: JSONValue) -> ItemMedia? {
        let image = json["media"]?["image"]
        let picture = image?["src"]?.link
        let type = json["media_type"]?.text ?? json["type"]?.text ?? ""
        let source = json["media"]?["source"]?.link
        let isVideo = type.contains("video")
        let isPhoto = type.contains("photo") || type.contains("album")
        guard let url = isVideo ? source ?? picture : isPhoto ? picture : json["url"]?.link ?? picture else {
            return nil
        }
        return ItemMedia(
            kind: isVideo ? .video : isPhoto ? .photo : .link,
            url: url,
            thumbnailUrl: picture,
            width: image?["width"]?.count,
            height: image?["height"]?.count,
            alt: json["description"]?.nonEmpty
        )
    }

    private func attachment(_ json: JSONValue) -> ItemMedia? {
        let image = json["image_data"]
        let video = json["video_data"]
        let type = json["mime_type"]?.text ?? ""
        guard let url = image?["url"]?.link ?? video?["url"]?.link ?? json["file_url"]?.link else { return nil }
        let kind: ItemMedia.Kind =
            image != nil ? .photo : video != nil ? .video : type.hasPrefix("audio/") ? .audio : .other
        return ItemMedia(
            kind: kind,
            url: url,
            thumbnailUrl: (image ?? video)?["preview_url"]?.link,
            width: (image ?? video)?["width"]?.count,
            height: (image ?? video)?["height"]?.count
        )
    }
}
