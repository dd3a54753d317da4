import Foundation
import Wire

/// The JSON of people, posts and conversations as Mastodon shows them to one viewer.
struct MastodonView {
    let community: Community
    let base: String
    let viewer: Person

    func account(_ person: Person) -> JSONValue {
        [
            "id": .string(String(person.id)), "username": .string(person.name), "acct": .string(person.name),
            "display_name": .string(person.displayName), "locked": false, "bot": false, "discoverable": true,
            "group": false, "created_at": "2024-01-01T00:00:00.000Z", "note": "<p></p>",
            "url": .string("\(base)/@\(person.name)"), "uri": .string("\(base)/users/\(person.name)"),
            "avatar": .string("\(base)/avatars/\(person.name).png"),
            "avatar_static": .string("\(base)/avatars/\(person.name).png"),
            "header": .string("\(base)/headers/\(person.name).png"),
            "header_static": .string("\(base)/headers/\(person.name).png"),
            "followers_count": 7, "following_count": .int(person.follows.count), "statuses_count": 30,
            "last_status_at": "2026-11-20", "emojis": [], "fields": [],
        ]
    }

    func account(_ number: Int) -> JSONValue {
        community.person(number).map(account) ?? .null
    }

    func status(_ post: Post, visibility: String = "public") -> JSONValue {
        let author = community.person(post.author) ?? .anonymous
        let parent = post.parent.flatMap { community.post($0) }
        let original = post.original.flatMap { community.post($0) }
        let id = String(post.id)
        let shown: JSONValue = [
            "id": .string(id), "created_at": .string(Timestamp.string(from: post.createdAt)),
            "in_reply_to_id": .text(post.parent.map { String($0) }),
            "in_reply_to_account_id": .text(parent.flatMap { community.person($0.author) }.map { String($0.id) }),
            "sensitive": false, "spoiler_text": "", "visibility": .string(visibility), "language": "en",
            "uri": .string("\(base)/users/\(author.name)/statuses/\(id)"),
            "url": .string("\(base)/@\(author.name)/\(id)"),
            "edited_at": .text(post.editedAt.map { Timestamp.string(from: $0) }),
            "content": .string(content(post.text)), "account": account(author),
            "reblog": original.map { status($0) } ?? .null,
            "application": ["name": "sandbox", "website": .null],
        ]
        return shown.with(counts(post)).with([
            "media_attachments": .list(post.media.map(attachment)),
            "mentions": .list(mentions(post.text)), "tags": [], "emojis": [], "filtered": [], "card": .null,
            "poll": .null, "quote": .null,
        ])
    }

    private func counts(_ post: Post) -> [String: JSONValue] {
        [
            "replies_count": .int(post.replies), "reblogs_count": .int(post.boosts.count),
            "favourites_count": .int(post.likes.count), "quotes_count": 0,
            "favourited": .bool(post.likes.contains(viewer.number)),
            "reblogged": .bool(post.boosts.contains(viewer.number)), "muted": false, "bookmarked": false,
            "pinned": false,
        ]
    }

    private func content(_ text: String) -> String {
        guard !text.isEmpty else { return "" }
        let lines = ConsentPage.escaped(text).replacing("\n", with: "<br />")
        return "<p>" + lines.replacing(/https?:\/\/[^\s<]+/) { "<a href=\"\($0.0)\">\($0.0)</a>" } + "</p>"
    }

    private func mentions(_ text: String) -> [JSONValue] {
        Community.mentions(in: text).compactMap { community.person(named: $0) }.map { person in
            [
                "id": .string(String(person.id)), "username": .string(person.name), "acct": .string(person.name),
                "url": .string("\(base)/@\(person.name)"),
            ]
        }
    }

    func attachment(_ attachment: Attachment) -> JSONValue {
        let url = origin + "/sandbox/media/\(attachment.id)"
        let aspect = Double(attachment.width) / Double(attachment.height)
        return [
            "id": .string(String(attachment.id)), "type": attachment.kind == .photo ? "image" : "video",
            "url": .string(url), "preview_url": .string(url), "remote_url": .null,
            "description": .text(attachment.description), "blurhash": "UFBWY:2c00_3",
            "meta": [
                "original": [
                    "width": .int(attachment.width), "height": .int(attachment.height), "aspect": .number(aspect),
                ]
            ],
        ]
    }

    private var origin: String {
        base.hasSuffix("/mastodon") ? String(base.dropLast("/mastodon".count)) : base
    }

    func notification(_ notice: Notice) -> JSONValue {
        let type =
            switch notice.kind {
            case .like: "favourite"
            case .boost: "reblog"
            case .follow: "follow"
            case .mention, .reply: "mention"
            }
        let shown: JSONValue = [
            "id": .string(String(notice.id)), "type": .string(type),
            "created_at": .string(Timestamp.string(from: notice.createdAt)),
            "group_key": .string("ungrouped-\(notice.id)"), "account": account(notice.actor),
        ]
        guard let post = notice.post.flatMap({ community.post($0) }) else { return shown }
        return shown.with(["status": status(post)])
    }

    // MARK: Direct messages (statuses with the visibility `direct`)

    func conversation(_ messageThread: MessageThread) -> JSONValue {
        [
            "id": .string(String(messageThread.id)), "unread": .bool(messageThread.unread(by: viewer.number) > 0),
            "accounts": .list(messageThread.members.filter { $0 != viewer.number }.map { account($0) }),
            "last_status": messageThread.messages.last.map { message($0, in: messageThread) } ?? .null,
        ]
    }

    func message(_ message: Message, in messageThread: MessageThread) -> JSONValue {
        var post = Post(id: message.id, author: message.sender, text: message.text, createdAt: message.createdAt)
        post.media = message.media
        let earlier = messageThread.messages.last { $0.id < message.id }
        let others = messageThread.members.filter { $0 != message.sender }.compactMap { community.person($0) }
        post.text = others.map { "@\($0.name) " }.joined() + message.text
        return status(post, visibility: "direct").with([
            "in_reply_to_id": .text(earlier.map { String($0.id) }),
            "in_reply_to_account_id": .text(
                earlier.flatMap { community.person($0.sender) }.map { String($0.id) }
            ),
        ])
    }
}
