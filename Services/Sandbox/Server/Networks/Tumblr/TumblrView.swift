import Foundation
import Wire

/// The JSON of blogs, posts and notifications as Tumblr shows them to one viewer.
struct TumblrView {
    let community: Community
    let origin: String
    let viewer: Person

    static func key(_ post: Int64) -> String { StableText.base32(of: "reblog \(post)", length: 8) }

    func blog(_ person: Person) -> JSONValue {
        [
            "name": .string(person.name), "title": .string(person.displayName),
            "url": .string("https://\(person.name).tumblr.com/"), "uuid": .string("t:\(person.stableKey)"),
            "avatar": [["width": 64, "height": 64, "url": .string("\(origin)/sandbox/media/500001")]],
        ]
    }

    private func common(_ post: Post) -> JSONValue {
        let author = community.person(post.author) ?? .anonymous
        let id = String(post.id)
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space).year().month().day().time(
            includingFractionalSeconds: false
        )
        return [
            "object_type": "post", "blog_name": .string(author.name), "blog": blog(author), "id": .integer(post.id),
            "id_string": .string(id), "post_url": .string("https://\(author.name).tumblr.com/post/\(id)"), "slug": "x",
            "date": .string("\(post.createdAt.formatted(style)) GMT"),
            "timestamp": .int(Int(post.createdAt.timeIntervalSince1970)), "state": "published",
            "reblog_key": .string(Self.key(post.id)), "summary": .string(post.text),
            "tags": .list((post.room ?? "").split(separator: ",").map { .string(String($0)) }),
            "note_count": .int(post.likes.count + post.boosts.count),
            "liked": .bool(post.likes.contains(viewer.number)), "followed": true, "can_like": true,
            "can_reblog": true, "can_reply": true,
        ]
    }

    /// Returns a post in the Neue Post Format (NPF).
    func post(_ post: Post) -> JSONValue {
        let original = post.original.flatMap { community.post($0) }
        var trail: [JSONValue] = []
        if let original, let author = community.person(original.author) {
            trail = [
                [
                    "content": .array(blocks(original)), "layout": [], "blog": blog(author),
                    "post": [
                        "id": .string(String(original.id)),
                        "timestamp": .int(Int(original.createdAt.timeIntervalSince1970)),
                    ],
                ]
            ]
        }
        var shown = common(post).with([
            "type": "blocks", "original_type": "regular", "is_blocks_post_format": true,
            "content": .array(blocks(post)), "layout": [], "trail": .array(trail),
        ])
        if let original, let author = community.person(original.author) {
            shown = shown.with([
                "reblogged_from_id": .string(String(original.id)), "reblogged_from_name": .string(author.name),
                "reblogged_root_id": .string(String(original.id)), "reblogged_root_name": .string(author.name),
                "reblogged_root_url": .string("https://\(author.name).tumblr.com/post/\(original.id)"),
                "parent_post_url": .string("https://\(author.name).tumblr.com/post/\(original.id)"),
            ])
        }
        return shown
    }

    private func blocks(_ post: Post) -> [JSONValue] {
        var blocks: [JSONValue] = []
        if let title = post.title { blocks.append(["type": "text", "subtype": "heading1", "text": .string(title)]) }
        if !post.text.isEmpty { blocks.append(["type": "text", "text": .string(post.text)]) }
        for attachment in post.media {
            let file: JSONValue = [
                "url": .string("\(origin)/sandbox/media/\(attachment.id)"), "type": .string(attachment.type),
                "width": .int(attachment.width), "height": .int(attachment.height),
            ]
            if attachment.kind == .photo {
                blocks.append(["type": "image", "media": [file], "alt_text": .text(attachment.description)])
            } else {
                blocks.append(["type": "video", "provider": "tumblr", "url": file["url"] ?? .null, "media": file])
            }
        }
        return blocks
    }

    func legacy(_ own: Post) -> JSONValue {
        let post = own.original.flatMap { community.post($0) } ?? own
        let text = "<p>\(ConsentPage.escaped(post.text))</p>"
        guard let attachment = post.media.first else {
            return common(own).with([
                "type": "text", "title": .text(post.title), "body": .string(text), "format": "html",
            ])
        }
        let url = JSONValue.string("\(origin)/sandbox/media/\(attachment.id)")
        guard attachment.kind == .photo else {
            return common(own).with([
                "type": "video", "video_url": url, "thumbnail_url": url, "caption": .string(text), "player": [],
            ])
        }
        let size: JSONValue = ["url": url, "width": .int(attachment.width), "height": .int(attachment.height)]
        let photo: JSONValue = ["caption": "", "original_size": size, "alt_sizes": [size]]
        return common(own).with(["type": "photo", "photos": [photo], "caption": .string(text)])
    }

    func notification(_ notice: Notice) -> JSONValue {
        let type =
            switch notice.kind {
            case .like: "like"
            case .boost: "reblog_naked"
            case .follow: "follow"
            case .mention: "mention_in_post"
            case .reply: "reply"
            }
        let actor = community.person(notice.actor) ?? .anonymous
        let time = JSONValue.int(Int(notice.createdAt.timeIntervalSince1970))
        let shown: JSONValue = [
            "id": .string(String(notice.id)), "type": .string(type), "timestamp": time, "before": time,
            "unread": .bool(!notice.isRead), "from_tumblelog_name": .string(actor.name),
            "from_tumblelog_uuid": .string("t:\(actor.stableKey)"), "from_tumblelog_is_adult": false, "followed": true,
        ]
        guard let post = notice.post.flatMap({ community.post($0) }) else { return shown }
        return shown.with([
            "target_post_id": .string(String(post.id)), "target_post_summary": .string(post.text),
            "target_tumblelog_name": .string(viewer.name),
            "reply_text": notice.kind == .reply ? .string(post.text) : .null,
        ])
    }
}
