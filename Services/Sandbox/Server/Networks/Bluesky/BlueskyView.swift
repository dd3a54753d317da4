import Foundation
import Wire

/// The JSON of people, posts and notifications as Bluesky shows them to one viewer.
struct BlueskyView {
    let community: Community
    let records: BlueskyRecords
    let origin: String
    let viewer: Person

    func did(_ number: Int) -> String { BlueskyNames.did(community.person(number) ?? .anonymous) }

    func uri(_ post: Post) -> String {
        let kind = post.original == nil ? "app.bsky.feed.post" : "app.bsky.feed.repost"
        return "at://\(did(post.author))/\(kind)/\(records.key(of: post.id))"
    }

    func cid(_ post: Post) -> String { BlueskyNames.cid(of: Data("post \(post.id)".utf8)) }

    func reference(_ post: Post) -> JSONValue { ["uri": .string(uri(post)), "cid": .string(cid(post))] }

    // MARK: People

    func profile(_ person: Person) -> JSONValue {
        let follows = viewer.follows.contains(person.number)
        let own = BlueskyNames.did(viewer)
        var relation: JSONValue = ["muted": false, "blockedBy": false]
        if follows {
            relation = relation.with(["following": .string("at://\(own)/app.bsky.graph.follow/\(person.id)")])
        }
        return [
            "did": .string(BlueskyNames.did(person)), "handle": .string(BlueskyNames.handle(person)),
            "displayName": .string(person.displayName), "avatar": .string("\(origin)/sandbox/media/500001"),
            "viewer": relation, "labels": [], "createdAt": "2023-01-01T00:00:00.000Z",
        ]
    }

    func profile(_ number: Int) -> JSONValue { profile(community.person(number) ?? .anonymous) }

    // MARK: Posts

    func record(_ post: Post) -> JSONValue {
        if let savedRecord = records.record(post.id) { return savedRecord }
        var record: JSONValue = [
            "$type": "app.bsky.feed.post", "text": .string(post.text), "langs": ["en"],
            "createdAt": .string(Timestamp.string(from: post.createdAt)),
        ]
        if let parent = post.parent.flatMap({ community.post($0) }) {
            record = record.with(["reply": ["root": reference(root(of: parent)), "parent": reference(parent)]])
        }
        if !post.media.isEmpty { record = record.with(["embed": embed(post.media)]) }
        return record
    }

    private func root(of post: Post) -> Post {
        var root = post
        for _ in 0..<80 {
            guard let parent = root.parent.flatMap({ community.post($0) }) else { break }
            root = parent
        }
        return root
    }

    private func embed(_ media: [Attachment]) -> JSONValue {
        let blob = { (attachment: Attachment) -> JSONValue in
            let cid = BlueskyNames.cid(of: Data("blob \(attachment.id)".utf8), isRaw: true)
            return [
                "$type": "blob", "ref": ["$link": .string(cid)], "mimeType": .string(attachment.type),
                "size": .int(max(1, attachment.size)),
            ]
        }
        if let video = media.first(where: { $0.kind == .video }) {
            return ["$type": "app.bsky.embed.video", "video": blob(video)]
        }
        let images = media.map { attachment -> JSONValue in
            ["image": blob(attachment), "alt": .string(attachment.description ?? "")]
        }
        return ["$type": "app.bsky.embed.images", "images": .array(images)]
    }

    private func shown(_ media: [Attachment]) -> JSONValue {
        if let video = media.first(where: { $0.kind == .video }) {
            return [
                "$type": "app.bsky.embed.video#view",
                "cid": .string(BlueskyNames.cid(of: Data("blob \(video.id)".utf8), isRaw: true)),
                "playlist": .string("\(origin)/sandbox/media/\(video.id)"),
                "thumbnail": .string("\(origin)/sandbox/media/500001"),
            ]
        }
        let images = media.map { attachment -> JSONValue in
            let url = "\(origin)/sandbox/media/\(attachment.id)"
            let ratio: JSONValue = ["width": .int(attachment.width), "height": .int(attachment.height)]
            return [
                "thumb": .string(url), "fullsize": .string(url), "alt": .string(attachment.description ?? ""),
                "aspectRatio": ratio,
            ]
        }
        return ["$type": "app.bsky.embed.images#view", "images": .array(images)]
    }

    func post(_ post: Post) -> JSONValue {
        var state: JSONValue = ["threadMuted": false, "embeddingDisabled": false]
        let key = BlueskyNames.tid(post.id)
        if post.likes.contains(viewer.number) {
            state = state.with(["like": .string("at://\(BlueskyNames.did(viewer))/app.bsky.feed.like/\(key)")])
        }
        if post.boosts.contains(viewer.number) {
            state = state.with(["repost": .string("at://\(BlueskyNames.did(viewer))/app.bsky.feed.repost/\(key)")])
        }
        let shownPost: JSONValue = [
            "uri": .string(uri(post)), "cid": .string(cid(post)), "author": profile(post.author),
            "record": record(post), "replyCount": .int(post.replies), "repostCount": .int(post.boosts.count),
            "likeCount": .int(post.likes.count), "quoteCount": 0, "bookmarkCount": 0, "viewer": state, "labels": [],
            "indexedAt": .string(Timestamp.string(from: post.createdAt)),
        ]
        return post.media.isEmpty ? shownPost : shownPost.with(["embed": shown(post.media)])
    }

    /// Returns a feed entry: a post, the reason why it is in the feed, and the post that it replies to.
    func entry(_ post: Post) -> JSONValue? {
        if let id = post.original {
            guard let original = community.post(id) else { return nil }
            let reason: JSONValue = [
                "$type": "app.bsky.feed.defs#reasonRepost", "by": profile(post.author), "uri": .string(uri(post)),
                "cid": .string(cid(post)), "indexedAt": .string(Timestamp.string(from: post.createdAt)),
            ]
            return ["post": self.post(original), "reason": reason]
        }
        guard let parent = post.parent else { return ["post": self.post(post)] }
        return ["post": self.post(post), "reply": ["root": threadPost(parent), "parent": threadPost(parent)]]
    }

    private func threadPost(_ id: Int64) -> JSONValue {
        guard let post = community.post(id) else {
            return [
                "$type": "app.bsky.feed.defs#notFoundPost", "uri": "at://did:plc:deleted/app.bsky.feed.post/deleted",
                "notFound": true,
            ]
        }
        return self.post(post).with(["$type": "app.bsky.feed.defs#postView"])
    }

    func notification(_ notice: Notice) -> JSONValue {
        let actor = community.person(notice.actor) ?? .anonymous
        let subject = notice.post.flatMap { community.post($0) }
        let reason =
            switch notice.kind {
            case .boost: "repost"
            case let kind: kind.rawValue
            }
        let isPost = notice.kind == .mention || notice.kind == .reply
        let kind = ["like": "feed.like", "repost": "feed.repost", "follow": "graph.follow"][reason] ?? "feed.post"
        let key = BlueskyNames.tid(notice.id)
        let time = JSONValue.string(Timestamp.string(from: notice.createdAt))
        var record: JSONValue = ["$type": .string("app.bsky.\(kind)"), "createdAt": time]
        if let subject {
            record = record.with(isPost ? ["text": .string(subject.text)] : ["subject": reference(subject)])
        }
        if notice.kind == .follow { record = record.with(["subject": .string(BlueskyNames.did(viewer))]) }
        let own = isPost ? subject.map { uri($0) } : nil
        let shown: JSONValue = [
            "uri": .string(own ?? "at://\(BlueskyNames.did(actor))/app.bsky.\(kind)/\(key)"),
            "cid": .string(BlueskyNames.cid(of: Data("notice \(notice.id)".utf8))), "author": profile(actor),
            "reason": .string(reason), "record": record, "isRead": .bool(notice.isRead), "indexedAt": time,
            "labels": [],
        ]
        guard let subject, !isPost else { return shown }
        return shown.with(["reasonSubject": .string(uri(subject))])
    }
}
