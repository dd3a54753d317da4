import Foundation
import Wire

/// The JSON of people, Pages, posts and messages as Facebook shows them.
struct FacebookView {
    let community: Community
    let request: NetworkRequest
    let viewer: Person
    /// Whether a person reads, as in v2.3, and not a Page.
    ///
    /// Then authors are people, with the ids that `me` returns.
    var isPersonal = false

    static func page(of person: Person) -> String { String(546_349_135_000_000 + person.id) }

    /// Returns the person with this id, the owner of the Page with this id, or the viewer for `me`.
    func person(_ id: String) -> Person? {
        if id == "me" { return viewer }
        return community.people.first { String($0.id) == id || Self.page(of: $0) == id }
    }

    /// Returns the post with the id `{owner}_{post}` or `{post}`.
    func post(_ id: String) -> Post? {
        id.split(separator: "_").last.flatMap { Int64($0) }.flatMap { community.post($0) }
    }

    func id(of person: Person) -> String { isPersonal ? String(person.id) : Self.page(of: person) }

    func named(_ number: Int) -> JSONValue {
        let person = community.person(number) ?? .anonymous
        return ["id": .string(id(of: person)), "name": .string(person.displayName)]
    }

    /// Returns a person, not their Page, for a person's own messages.
    private func natural(_ number: Int) -> JSONValue {
        let person = community.person(number) ?? .anonymous
        return ["id": .string(String(person.id)), "name": .string(person.displayName)]
    }

    func shown(_ post: Post) -> JSONValue {
        let author = community.person(post.author) ?? .anonymous
        let owner = id(of: author)
        let likes = post.likes.sorted()
        var shown: JSONValue = [
            "id": .string("\(owner)_\(post.id)"), "from": named(post.author), "message": .string(post.text),
            "created_time": .string(Meta.time(post.createdAt)),
            "updated_time": .string(Meta.time(post.editedAt ?? post.createdAt)), "type": "status",
            "permalink_url": .string("https://www.facebook.com/\(owner)/posts/\(post.id)"),
            "likes": [
                "data": .list(likes.map(named)),
                "summary": [
                    "total_count": .int(likes.count), "can_like": true,
                    "has_liked": .bool(post.likes.contains(viewer.number)),
                ],
            ],
            "comments": ["data": [], "summary": ["total_count": .int(post.replies), "order": "ranked"]],
            "shares": ["count": .int(post.boosts.count)],
        ]
        if let original = post.original.flatMap({ community.post($0) }) {
            shown = shown.with([
                "parent_id": .string(
                    "\(id(of: community.person(original.author) ?? .anonymous))_\(original.id)"
                ),
                "message": .string(original.text), "type": "link",
            ])
        }
        if let location = post.location {
            shown = shown.with([
                "place": [
                    "id": .text(location.id), "name": .text(location.name),
                    "location": [
                        "latitude": .number(location.latitude ?? 0.5), "longitude": .number(location.longitude ?? 0.5),
                    ],
                ]
            ])
        }
        guard !post.media.isEmpty else { return shown }
        let url = { (attachment: Attachment) in "\(request.origin)/sandbox/media/\(attachment.id)" }
        let attachments = post.media.map { attachment -> JSONValue in
            let image: JSONValue = [
                "src": .string(url(attachment)), "width": .int(attachment.width), "height": .int(attachment.height),
            ]
            let media: JSONValue =
                attachment.kind == .photo ? ["image": image] : ["image": image, "source": .string(url(attachment))]
            return [
                "type": attachment.kind == .photo ? "photo" : "video_inline",
                "media_type": attachment.kind == .photo ? "photo" : "video", "media": media,
                "target": ["id": .string(String(attachment.id))], "description": .text(attachment.description),
            ]
        }
        return shown.with([
            "type": post.media[0].kind == .photo ? "photo" : "video", "picture": .string(url(post.media[0])),
            "full_picture": .string(url(post.media[0])), "attachments": ["data": .array(attachments)],
            "source": post.media[0].kind == .video ? .string(url(post.media[0])) : .null,
        ])
    }

    /// Returns only the requested fields and `id`, as since v2.4.
    func chosen(_ value: JSONValue) -> JSONValue {
        guard let fields = request["fields"], case .object(let all) = value else { return value }
        var names: Set<String> = ["id"]
        var depth = 0
        var name = ""
        for letter in fields + "," {
            switch letter {
            case "{", "(": depth += 1
            case "}", ")": depth -= 1
            case "," where depth == 0:
                names.insert(String(name.prefix { $0 != "." }))
                name = ""
            default: if depth == 0 { name.append(letter) }
            }
        }
        return .object(all.filter { names.contains($0.key) && $0.value != .null })
    }

    // MARK: Messages

    static func id(of messageThread: MessageThread) -> String { "t_\(messageThread.id)" }

    private func party(_ number: Int) -> JSONValue {
        named(number).with(["email": .string("\(number)@facebook.com")])
    }

    func message(_ message: Message, in messageThread: MessageThread) -> JSONValue {
        let others = messageThread.members.filter { $0 != message.sender }
        return [
            "id": .string("m_\(message.id)"), "created_time": .string(Meta.time(message.createdAt)),
            "from": party(message.sender), "to": ["data": .list(others.map(party))],
            "message": .string(message.text),
        ]
    }

    func messageThread(_ messageThread: MessageThread) -> JSONValue {
        let newest = Array(messageThread.messages.suffix(20).reversed())
        return [
            "id": .string(Self.id(of: messageThread)),
            "updated_time": .string(Meta.time(messageThread.messages.last?.createdAt ?? .distantPast)),
            "snippet": .text(messageThread.messages.last?.text),
            "unread_count": .int(messageThread.unread(by: viewer.number)),
            "message_count": .int(messageThread.messages.count), "can_reply": true,
            "participants": ["data": .list(messageThread.members.map(party))],
            "messages": ["data": .list(newest.map { message($0, in: messageThread) })],
        ]
    }

    /// Returns a thread in the format of v2.3, in which the messages are comments.
    func thread(_ messageThread: MessageThread) -> JSONValue {
        let comments = messageThread.messages.suffix(25).map { comment($0) }
        return [
            "id": .string(String(messageThread.id)), "to": ["data": .list(messageThread.members.map(natural))],
            "updated_time": .string(Meta.time(messageThread.messages.last?.createdAt ?? .distantPast)),
            "unread": .int(messageThread.unread(by: viewer.number)), "unseen": 0,
            "comments": ["data": .array(comments)],
        ]
    }

    func comment(_ message: Message) -> JSONValue {
        [
            "id": .string("\(message.id)"), "from": natural(message.sender), "message": .string(message.text),
            "created_time": .string(Meta.time(message.createdAt)),
        ]
    }

    func notification(_ notice: Notice) -> JSONValue {
        let name = community.person(notice.actor)?.displayName ?? ""
        let verb = ["like": "likes your post", "boost": "shared your post", "follow": "follows you"]
        let time = JSONValue.string(Meta.time(notice.createdAt))
        let applications = ["like": "Likes", "boost": "Links", "follow": "Friends", "mention": "Wall"]
        return [
            "id": .string("notif_\(viewer.id)_\(notice.id)"), "from": named(notice.actor), "to": named(viewer.number),
            "created_time": time, "updated_time": time,
            "title": .string("\(name) \(verb[notice.kind.rawValue] ?? "commented on your post")."),
            "link": .string("https://www.facebook.com/\(notice.post ?? 0)"),
            "application": [
                "name": .string(applications[notice.kind.rawValue] ?? "Feed Comments"), "id": "2409997254",
            ],
            "unread": notice.isRead ? 0 : 1,
            "object": notice.post.map { ["id": .string(String($0))] } ?? .null,
        ]
    }
}
