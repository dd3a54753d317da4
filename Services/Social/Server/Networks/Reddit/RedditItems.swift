import Foundation
import SocialAPI
import Wire

/// The parser of Reddit's things: links (t3), comments (t1) and private messages (t4), by their full names.
struct RedditItems {
    let page: PageRequest
    /// The account's user name, by which a thread's other members are found.
    let me: String?

    func post(_ json: JSONValue) -> Item? {
        guard let data = json["data"], var item = common(json, data, .post) else { return nil }
        let title = data["title"]?.text ?? ""
        let body = data["selftext"]?.nonEmpty
        item.text = [title, body].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "\n\n")
        item.media = media(data)
        item.url = permalink(data)
        item.stats = ItemStats(
            likes: data["ups"]?.count ?? data["score"]?.count,
            comments: data["num_comments"]?.count,
            views: data["view_count"]?.count
        )
        item.liked = data["likes"]?.flag ?? false
        item.updatedAt = data["edited"].flatMap { edited in
            edited.flag == nil || edited.double != nil ? edited.epoch : nil
        }
        if let original = data["crosspost_parent"]?.nonEmpty {
            item.kind = .repost
            item.about = ItemReference(id: ItemID(.reddit, original))
        }
        return item
    }

    /// Parses a thread, which must be of private messages; its first message contains the replies.
    func thread(_ json: JSONValue) -> Item? {
        guard json["kind"]?.text == "t4", let data = json["data"], let first = common(json, data, .thread) else {
            return nil
        }
        let all = messages(json, in: first.id.native)
        guard let latest = all.first else { return nil }
        var item = latest
        item.id = ItemID(.reddit, "thread/\(first.id.native)")
        item.kind = .thread
        item.thread = first.id.native
        item.text = [data["subject"]?.text ?? "", latest.text].filter { !$0.isEmpty }.joined(separator: "\n\n")
        item.participants = people(data, all)
        item.unread = all.count { $0.unread == 1 }
        item.raw = page.raw(json)
        return item
    }

    /// Returns the messages of a thread, newest first.
    func messages(_ json: JSONValue, in thread: String) -> [Item] {
        guard let data = json["data"], var first = common(json, data, .message) else { return [] }
        first.text = data["body"]?.text ?? ""
        first.thread = thread
        first.unread = data["new"]?.flag.map { $0 ? 1 : 0 }
        let replies = (data["replies"]?["data"]?["children"]).list.flatMap { messages($0, in: thread) }
        return ([first] + replies).sorted { ($0.createdAt, $0.id.native) > ($1.createdAt, $1.id.native) }
    }

    /// Parses an entry of the inbox: a reply or a mention.
    ///
    /// The inbox also has private messages. They are skipped here, because the list of messages has them.
    func notification(_ json: JSONValue) -> Item? {
        guard json["kind"]?.text != "t4", let data = json["data"] else { return nil }
        let kinds: [String: ItemKind] = [
            "comment_reply": .reply, "post_reply": .comment, "username_mention": .mention,
        ]
        // If the type is missing, the subject says the same in words.
        let type = data["type"]?.nonEmpty ?? data["subject"]?.text?.replacing(" ", with: "_") ?? ""
        guard var item = common(json, data, kinds[type] ?? .other) else { return nil }
        item.text = data["body"]?.text ?? ""
        item.url = data["context"]?.nonEmpty.map { "https://www.reddit.com\($0)" }
        item.unread = data["new"]?.flag.map { $0 ? 1 : 0 }
        if let parent = data["parent_id"]?.nonEmpty {
            item.about = ItemReference(id: ItemID(.reddit, parent), text: data["link_title"]?.text)
        }
        return item
    }

    // MARK: -

    private func common(_ json: JSONValue, _ data: JSONValue, _ kind: ItemKind) -> Item? {
        let type = json["kind"]?.text ?? ""
        guard let name = data["name"]?.nonEmpty ?? data["id"]?.nonEmpty.map({ "\(type)_\($0)" }),
            let at = data["created_utc"]?.epoch
        else { return nil }
        return Item(
            id: ItemID(.reddit, name),
            kind: kind,
            author: author(data),
            createdAt: at,
            raw: page.raw(json)
        )
    }

    /// Returns nil for a deleted account.
    private func author(_ data: JSONValue) -> ItemAuthor? {
        guard let name = data["author"]?.nonEmpty, name != "[deleted]" else { return nil }
        return ItemAuthor(
            id: data["author_fullname"]?.nonEmpty ?? name,
            name: name,
            username: name,
            url: "https://www.reddit.com/user/\(name)"
        )
    }

    private func permalink(_ data: JSONValue) -> String? {
        data["permalink"]?.nonEmpty.map { "https://www.reddit.com\($0)" }
    }

    private func people(_ data: JSONValue, _ messages: [Item]) -> [ItemAuthor] {
        var people: [ItemAuthor] = []
        let candidates =
            messages.compactMap(\.author)
            + [data["dest"]?.nonEmpty].compactMap { $0 }.map { ItemAuthor(id: $0, name: $0, username: $0) }
        for person in candidates where person.name.lowercased() != me?.lowercased() {
            if !people.contains(where: { $0.name.lowercased() == person.name.lowercased() }) { people.append(person) }
        }
        return people
    }

    private func media(_ data: JSONValue) -> [ItemMedia] {
        if let video = (data["media"] ?? data["secure_media"])?["reddit_video"], let url = video["fallback_url"]?.link {
            return [
                ItemMedia(
                    kind: video["is_gif"]?.flag == true ? .gif : .video,
                    url: url,
                    thumbnailUrl: preview(data)?["url"]?.link,
                    width: video["width"]?.count,
                    height: video["height"]?.count,
                    duration: video["duration"]?.double
                )
            ]
        }
        if data["is_gallery"]?.flag == true { return gallery(data) }
        guard data["is_self"]?.flag != true, let url = data["url"]?.link else { return [] }
        let source = preview(data)
        let isPhoto = data["post_hint"]?.text == "image" || url.hasPrefix("https://i.redd.it/")
        return [
            ItemMedia(
                kind: isPhoto ? .photo : .link,
                url: url,
                thumbnailUrl: source?["url"]?.link ?? data["thumbnail"]?.link,
                width: isPhoto ? source?["width"]?.count : nil,
                height: isPhoto ? source?["height"]?.count : nil
            )
        ]
    }

    private func preview(_ data: JSONValue) -> JSONValue? { (data["preview"]?["images"]).list.first?["source"] }

    private func gallery(_ data: JSONValue) -> [ItemMedia] {
        (data["gallery_data"]?["items"]).list.compactMap { entry in
            guard let id = entry["media_id"]?.nonEmpty, let source = data["media_metadata"]?[id]?["s"],
                let url = source["u"]?.link ?? source["gif"]?.link
            else { return nil }
            return ItemMedia(
                kind: source["gif"] == nil ? .photo : .gif,
                url: url,
                width: source["x"]?.count,
                height: source["y"]?.count,
                alt: entry["caption"]?.nonEmpty
            )
        }
    }
}
