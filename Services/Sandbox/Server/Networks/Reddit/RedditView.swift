import Foundation
import Wire

/// The JSON of people, posts and messages as Reddit shows them to one viewer.
struct RedditView {
    let community: Community
    let request: NetworkRequest
    let viewer: Person

    static func base36(_ id: Int64) -> String { String(id, radix: 36) }

    static func id(_ name: some StringProtocol) -> Int64? {
        Int64(name.contains("_") ? name.dropFirst(3).description : String(name), radix: 36)
    }

    static func name(of person: Person) -> String { "t2_\(base36(person.id))" }

    private var isRaw: Bool { request["raw_json"] == "1" }

    private func text(_ text: String) -> JSONValue {
        .string(
            isRaw ? text : text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        )
    }

    private func author(_ number: Int) -> JSONValue { .text(community.person(number)?.name) }

    static func listing(_ children: [JSONValue], after: String?, before: String? = nil) -> JSONValue {
        [
            "kind": "Listing",
            "data": [
                "after": .text(after), "before": .text(before), "dist": .int(children.count), "modhash": .null,
                "geo_filter": "", "children": .array(children),
            ],
        ]
    }

    func thing(_ post: Post) -> JSONValue { post.parent == nil ? link(post) : comment(post) }

    func link(_ post: Post) -> JSONValue {
        let id = Self.base36(post.id)
        let room = post.room ?? "Showerthoughts"
        let photo = post.media.first { $0.kind == .photo }
        let own = "/r/\(room)/comments/\(id)/x/"
        let media = photo.map { "\(request.origin)/sandbox/media/\($0.id)" }
        var data: JSONValue = [
            "id": .string(id), "name": .string("t3_\(id)"), "title": text(post.title ?? post.text),
            "author": author(post.author), "author_fullname": .text(community.person(post.author).map(Self.name)),
            "subreddit": .string(room), "subreddit_name_prefixed": .string("r/\(room)"),
            "subreddit_id": .string("t5_\(StableText.base32(of: room, length: 5))"),
            "created_utc": .number(post.createdAt.timeIntervalSince1970), "permalink": .string(own),
            "created": .number(post.createdAt.timeIntervalSince1970),
            "url": .string(media ?? "https://www.reddit.com\(own)"), "is_self": .bool(photo == nil),
            "selftext": photo == nil ? text(post.text) : "", "selftext_html": .null,
            "thumbnail": .string(media ?? "self"), "over_18": false, "is_video": false, "media": .null,
            "edited": post.editedAt.map { .number($0.timeIntervalSince1970) } ?? false,
        ]
        let score = post.likes.count - post.dislikes.count + 1
        data = data.with([
            "score": .int(score), "ups": .int(score), "downs": 0, "num_comments": .int(post.replies),
            "likes": vote(post), "hidden": false, "saved": false, "locked": false, "stickied": false,
        ])
        if let photo, let media {
            let source: JSONValue = ["url": .string(media), "width": .int(photo.width), "height": .int(photo.height)]
            data = data.with([
                "preview": ["images": [["id": "p", "source": source, "resolutions": []]], "enabled": true]
            ])
        }
        return ["kind": "t3", "data": data]
    }

    private func vote(_ post: Post) -> JSONValue {
        post.likes.contains(viewer.number) ? true : post.dislikes.contains(viewer.number) ? false : .null
    }

    func comment(_ post: Post) -> JSONValue {
        let id = Self.base36(post.id)
        let parent = post.parent.flatMap { community.post($0) }
        let link = parent.map { $0.parent ?? $0.id } ?? 0
        let data: JSONValue = [
            "id": .string(id), "name": .string("t1_\(id)"), "body": text(post.text), "author": author(post.author),
            "body_html": .string("<div class=\"md\"><p>\(ConsentPage.escaped(post.text))</p></div>"),
            "parent_id": .string("\(parent?.parent == nil ? "t3" : "t1")_\(Self.base36(post.parent ?? 0))"),
            "link_id": .string("t3_\(Self.base36(link))"), "subreddit": .string(post.room ?? "Showerthoughts"),
            "created_utc": .number(post.createdAt.timeIntervalSince1970), "score": .int(post.likes.count + 1),
            "likes": vote(post), "replies": "", "edited": false,
            "permalink": .string("/r/\(post.room ?? "Showerthoughts")/comments/\(Self.base36(link))/x/\(id)/"),
        ]
        return ["kind": "t1", "data": data]
    }

    // MARK: Inbox

    func message(_ message: Message, in messageThread: MessageThread, replies: JSONValue = "") -> JSONValue {
        let first =
            messageThread.messages.first?.id == message.id
            ? nil : messageThread.messages.first.map { Self.base36($0.id) }
        let earlier = messageThread.messages.last { $0.id < message.id }
        let other = messageThread.members.first { $0 != message.sender } ?? message.sender
        let id = Self.base36(message.id)
        let subject = messageThread.subject ?? "hello"
        let isNew = message.sender != viewer.number && message.id > (messageThread.read[viewer.number] ?? 0)
        let data: JSONValue = [
            "id": .string(id), "name": .string("t4_\(id)"), "first_message": .null,
            "first_message_name": .text(first.map { "t4_\($0)" }),
            "parent_id": .text(earlier.map { "t4_\(Self.base36($0.id))" }),
            "subject": text(first == nil ? subject : "re: \(subject)"), "body": text(message.text),
            "body_html": .string("<div class=\"md\"><p>\(ConsentPage.escaped(message.text))</p></div>"),
            "author": author(message.sender), "dest": author(other), "subreddit": .null, "new": .bool(isNew),
            "author_fullname": .text(community.person(message.sender).map(Self.name)), "was_comment": false,
            "type": "unknown", "created_utc": .number(message.createdAt.timeIntervalSince1970), "context": "",
            "distinguished": .null, "replies": replies,
        ]
        return ["kind": "t4", "data": data]
    }

    /// Returns a thread as its first message, with all later messages as replies.
    func thread(_ messageThread: MessageThread) -> JSONValue {
        guard let first = messageThread.messages.first else { return .null }
        let rest = messageThread.messages.dropFirst().map { message($0, in: messageThread) }
        return message(first, in: messageThread, replies: rest.isEmpty ? "" : Self.listing(rest, after: nil))
    }

    /// Returns a reply or mention for the inbox; Reddit does not notify about votes.
    func notice(_ notice: Notice) -> JSONValue? {
        guard notice.kind == .reply || notice.kind == .mention, let post = notice.post.flatMap({ community.post($0) })
        else { return nil }
        let id = Self.base36(notice.id)
        let data: JSONValue = [
            "id": .string(id), "name": .string("t1_\(id)"), "was_comment": true, "author": author(notice.actor),
            "type": notice.kind == .reply ? "post_reply" : "username_mention", "body": text(post.text),
            "subject": notice.kind == .reply ? "post reply" : "username mention", "link_title": text(post.title ?? ""),
            "context": .string("/r/\(post.room ?? "Music")/comments/\(Self.base36(post.id))/x/\(id)/?context=3"),
            "new": .bool(!notice.isRead), "created_utc": .number(notice.createdAt.timeIntervalSince1970),
            "subreddit": .string(post.room ?? "Music"), "dest": .string(viewer.name),
            "parent_id": .string("t3_\(Self.base36(post.id))"), "replies": "",
            "body_html": .string("<div class=\"md\"><p>\(ConsentPage.escaped(post.text))</p></div>"),
        ]
        return ["kind": "t1", "data": data]
    }

    // MARK: People and subreddits

    func account(_ person: Person, isOwn: Bool = false) -> JSONValue {
        let shown: JSONValue = [
            "id": .string(Self.base36(person.id)), "name": .string(person.name),
            "icon_img": .string("\(request.origin)/sandbox/media/\(500_000 + Int64(person.number))"),
            "created_utc": .number(1_600_000_000), "link_karma": 10, "comment_karma": 20, "is_employee": false,
        ]
        guard isOwn else { return shown }
        let unread = community.messageThreads(of: person.number).reduce(0) { $0 + $1.unread(by: person.number) }
        return shown.with(["inbox_count": .int(unread), "has_mail": .bool(unread > 0), "over_18": false])
    }

    /// Returns the profile subreddit of a person, which others subscribe to in order to follow the person.
    func profile(_ person: Person) -> JSONValue {
        let data: JSONValue = [
            "display_name": .string("u_\(person.name)"), "display_name_prefixed": .string("u/\(person.name)"),
            "name": .string("t5_\(Self.base36(person.id))"), "id": .string(Self.base36(person.id)),
            "subreddit_type": "user", "url": .string("/user/\(person.name)/"), "user_is_subscriber": true,
            "icon_img": .string("\(request.origin)/sandbox/media/\(500_000 + Int64(person.number))"),
            "subscribers": 1, "over_18": false,
        ]
        return ["kind": "t5", "data": data]
    }

    func subreddit(_ name: String) -> JSONValue {
        let data: JSONValue = [
            "display_name": .string(name), "display_name_prefixed": .string("r/\(name)"),
            "name": .string("t5_\(StableText.base32(of: name, length: 6))"), "subreddit_type": "public",
            "icon_img": "", "url": .string("/r/\(name)/"), "user_is_subscriber": true, "subscribers": 250_000,
            "over_18": false,
        ]
        return ["kind": "t5", "data": data]
    }
}
